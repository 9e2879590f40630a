import type { Operations } from "./types.js";

export * from "./types.js";

type Needed<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] };
type Part<K extends string, T> = {} extends Needed<T> ? { [P in K]?: T } : { [P in K]: T };
type Body<T> = undefined extends T ? { body?: T } : { body: T };

/** What an operation takes; what it does not need can be left out. */
export type Given<N extends keyof Operations> = Part<"path", Operations[N]["path"]> &
  Part<"query", Operations[N]["query"]> &
  Part<"headers", Operations[N]["headers"]> &
  Body<Operations[N]["body"]> & { signal?: AbortSignal };

export declare class BeliefdError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown> | null;
}

export declare class Client {
  constructor(url?: string, options?: { token?: string });
  call<N extends keyof Operations>(
    name: N,
    ...given: {} extends Given<N> ? [Given<N>?] : [Given<N>]
  ): Promise<Operations[N]["answer"]>;
  follow<N extends keyof Operations>(
    name: N,
    ...given: {} extends Given<N> ? [Given<N>?] : [Given<N>]
  ): AsyncGenerator<{ event?: string; id?: string; data: any }>;
}
