"""What hostile text says, as data: sequences of word groups, and markup that has no place in a claim.

A sequence reads text as `views.squeeze` leaves it. Between its commas stand groups of alternatives
(`a|b c|d(s)`), optional groups (`?a|b`), and gaps (a number: so many words, never across a sentence).
Gaps and words are bounded, so every start costs a constant and a text time in proportion to its length.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final


@dataclass(frozen=True, eq=False)  # a rule is itself only, which makes it cheap to look up
class Rule:
    """One way to say it. `needs`: of each set one word (in raw rules: one substring) must occur."""

    kind: str
    weight: float
    source: str
    needs: tuple[frozenset[str], ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first looked for: most texts hold no word that a rule needs."""
        return re.compile(self.source)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that are everywhere tell nothing: a set that holds one is not asked for. Common ones tell little.
_EVERYWHERE = _words("the to in at a an with from that is are as it so for and of")
_COMMON = _EVERYWHERE | _words(
    "on be not no all any this one have has do set make sure new next file numbers system longer status text "
    "message leave"
)


def _telling(phrase: str) -> str:
    return max(phrase.split(), key=lambda word: (word not in _COMMON, len(word)))


def _alternatives(group: str) -> list[str]:
    found = []
    for alternative in group.split("|"):
        stem, bracket, ending = alternative.partition("(")
        found += [stem, stem + ending.rstrip(")")] if bracket else [stem]
    return found


def _rows(text: str) -> Iterator[tuple[str, float, list[str]]]:
    """Rules below the `[kind]` they are of: a weight, and lines of which all but the first are indented."""
    kind = ""
    for row in re.split(r"\n(?! )", text):
        if row.startswith("["):
            kind = row.strip("[]")
        elif row and not row.startswith("#"):
            weight, _, lines = row.partition(" ")
            yield kind, float(weight), [line.strip() for line in lines.split("\n")]


def _said(text: str) -> tuple[Rule, ...]:
    return tuple(_sequence(kind, weight, "".join(lines)) for kind, weight, lines in _rows(text))


def _raw(text: str) -> tuple[Rule, ...]:
    """The first line of a rule is what it needs, the others are its pattern."""
    return tuple(
        Rule(kind, weight, "".join(pattern), (_words(needs),))
        for kind, weight, (needs, *pattern) in _rows(text)
    )


def _sequence(kind: str, weight: float, parts: str) -> Rule:
    pattern, needs = " ", []
    for part in map(str.strip, parts.split(",")):
        if part.isdecimal():
            pattern += rf"(?:[^ .]{{1,32}} ){{0,{part}}}?"
            continue
        alternatives = _alternatives(part.removeprefix("?"))
        group = f"(?:{'|'.join(map(re.escape, alternatives))}) "
        pattern += f"(?:{group})?" if part.startswith("?") else group
        words = frozenset(map(_telling, alternatives))
        if not part.startswith("?") and part != "." and not words & _EVERYWHERE:
            needs.append(words)
    return Rule(kind, weight, pattern, tuple(needs))


_IGNORE = (
    "ignore|disregard|forget|set aside|pay no attention to|do not follow|don t follow|never follow|"
    "no longer follow|stop following|do not obey|don t obey|stop obeying"
)
_DROP = "override|overrule|neglect|dismiss|abandon|discard|drop|cancel|bypass|skip|reset|erase|defy"
_EARLIER = "previous|prior|earlier|preceding|above|former|foregoing|initial|original|existing"
_ORDERS = "instruction(s)|directive(s)|guideline(s)|guardrail(s)"
_ANY_ORDERS = f"{_ORDERS}|prompt(s)|directions|guidance|programming"
_RULES = "rules|restrictions|constraints|safeguards"
_ASSISTANT = "ai|llm(s)|language model(s)|assistants|ai assistant(s)|ai agent(s)"
_SEND = (
    "send|upload|forward|post|email|mail|leak|transmit|exfiltrate|paste|append|include|copy|share|submit|"
    "encode"
)
_SECRETS = (
    "password(s)|credential(s)|secret(s)|token(s)|api key(s)|private key(s)|ssh key(s)|signing key(s)|"
    "env file|environment variables|system prompt|conversation|conversation history|chat history|etc shadow|"
    "etc passwd|card numbers|database dump|cookies"
)
_AWAY = (
    "http|https|@|webhook|pastebin|url|query string|callback|dns|external address|following address|"
    "this address|public|your reply|your answer|your response|the channel|the next"
)
_SKIP = (
    "skip|bypass|disable|circumvent|evade|suppress|omit|waive|override|sidestep|ignore|deactivate|"
    "turn off|switch off|work around|get around|go around"
)
_GATE = (
    "approval(s)|human gate|human review(s)|manual review(s)|human check(s)|adversarial gate|security gate|"
    "security review(s)|security check(s)|evidence gate|uncertainty gate|safety gate(s)|safety check(s)|"
    "gates|the gate|this gate|every gate|guardrails|oversight|sign off|separation of duties|policy check(s)|"
    "defer outcome"
)
_NOT = "do not|don t|never"
_ACT = "publish|execute|proceed|approve|delete|run|continue|go ahead|apply|deploy"
_PEOPLE = "reviewer(s)|operator(s)|auditor(s)|human(s)|approver(s)|security team|anyone"

# One rule, one line where it fits: tables are for reading down.
WORDS: Final = _said(f"""
[instruction_injection]
# Drop what you were told, become something else, say what you were told.
0.85 {_IGNORE}, 2, {_EARLIER}|your|system|developer|their|its, 2, {_ANY_ORDERS}
0.85 {_IGNORE}|{_DROP}, 2, {_EARLIER}|your|all|any|these|those, 2, {_ORDERS}
0.85 {_IGNORE}|{_DROP}, 2, {_ORDERS}, above|before|given|you
0.85 {_IGNORE}, 2, system message|developer message
0.80 {_IGNORE}, 2, your, 2, {_RULES}|orders|filter(s)|policy|policies|limits
0.80 {_IGNORE}, 2, above|previous|prior|all, rules
0.75 {_IGNORE}, 2, previous|prior|earlier, 1, policies|conditions|commands
0.80 {_EARLIER}, instructions|directives|prompts, should be|must be|are to be, disregarded|ignored|forgotten
0.80 forget|disregard|ignore, everything|anything|all, 3,
    told|said|trained|instructed|above|before this|before that
0.80 your, 1, {_ORDERS}|{_RULES}, 3, void|lifted|changed|cancelled|revoked|suspended
0.80 {_EARLIER}, instructions|directives, no longer apply|do not apply|are void|are cancelled
0.80 you are now|you re now, 3, dan|unrestricted|jailbroken|unfiltered|freed|developer mode|god mode|root|ai|
    an assistant|language model
0.80 unrestricted|unfiltered|uncensored, agent|assistant|ai|model
0.80 jailbreak mode|dan mode|god mode|do anything now
0.80 ai|assistant|agent|model|chatbot, that has no|with no|without, 2,
    restrictions|limits|limitations|filter(s)|rules|guidelines
0.75 you are, freed|exempt|released|no longer bound, 3, {_RULES}|{_ORDERS}
0.75 pretend|act as if|behave as if, you are|you have|to be, 5,
    root|admin|administrator|no|unlimited|unrestricted|human|approver
0.80 reveal|print|show|output|repeat|display|leak|dump|disclose|give me|tell me, 4,
    system prompt|hidden prompt|initial prompt|original prompt|your prompt|hidden instructions|
    secret instructions|initial instructions|your instructions
0.75 repeat, everything|all|the text|the words, 2, above
0.75 repeat|what are|what were, 1, previous|your|your complete, instruction(s)|prompt
0.75 new instructions, 2, your task|your goal|your only|your job
0.75 your new instruction(s)
0.75 note to|message to|message for|attention, ?the|any|all, {_ASSISTANT}
0.75 attention, assistant
0.75 if you are, a|an, ?large, {_ASSISTANT}|assistant
0.75 {_ASSISTANT}|agents, 1, reading|summarising|summarizing|processing, 4, must|should|shall
0.75 obey, 2, operator|text|ticket|note|message|document|written
0.75 as your, administrator|developer|creator|operator, i, 2, order|command|authorize|instruct
[tool_smuggling]
# Tool calls smuggled in as prose.
0.75 call|invoke|use|with, your, 1, shell tool|terminal tool|browser tool|email tool|file tool|code tool|
    sql tool|send function
0.40 call|invoke, the|your, 2, tool|function, 1, with
0.80 action, 4, ., action input
[exfiltration]
# A secret, and a way out.
0.80 {_SEND}, 6, {_SECRETS}, 5, to|into|at|in|via|over|with, 4, {_AWAY}
0.75 exfiltrate, 4, {_SECRETS}
0.75 tell me|give me, 2, password|api key(s)|private key|credentials
[gate_bypass]
# Past the gates, or in their place.
0.80 {_SKIP}, 3, {_GATE}
0.75 evade|circumvent|bypass, 2, rate limit
0.50 suppress|skip|disable|omit, 2, confirmation
0.75 this|bundle|action|request|claim|deletion, 2, pre approved|preapproved|already approved
0.75 treat|consider|regard|count, 3, as approved|as already approved|as pre approved
0.75 no|without, ?any, human|manual, review|approval|oversight|confirmation
0.75 {_ACT}, 4, without waiting|without asking|without any|without further, 2,
    review|approval|confirmation|anyone|anybody|confirming
0.75 {_ACT}, 4, without review|without approval|without confirmation
0.80 set|change|force|flip|make|mark|return, 3, decision|verdict|outcome|status|recommendation|gates,
    ?to|as|must be|is, publish|execute|approved|allow|allowed|passed
0.80 gate recommendation, ?must be|should be|to|as, execute
0.75 auto approve, ?this|the, this|request|bundle|claim
0.75 approve, this|the, 1, right away|immediately|without|automatically|silently
0.75 lower|change|set, 3, tier to, 4, so|gate
0.75 label|declare|mark, this|the|it, 2, as read only
0.75 {_NOT}, escalate|send|forward, this|it|the, 3, human|inbox|approver|reviewer
0.75 grant|give|assign, yourself, 3, role|tier|access|approver
0.75 return|report|give, 2, score of 0|score of zero
0.75 pretend|assume, ?that, the approver|the reviewer|a human, 1, clicked|said|agreed|approved
[audit_forgery]
# The record forged, people kept in the dark.
0.80 forge|backdate|falsify|fabricate|tamper with, 4,
    audit|approval(s)|ledger|evidence hash|log|logs|trail|record(s)
0.80 rewrite|alter|scrub|erase|wipe, 3,
    audit trail|audit log(s)|audit event(s)|ledger|approval record(s)|log timestamps|failed gate
0.75 so nobody notices|so no one notices|so that nobody notices|so that no one notices|leave no trace
0.75 cover, our|your|my, tracks
0.75 {_NOT}, log|record, this
0.75 make sure, 3, not recorded|not logged
0.75 hide|conceal, 3, from, ?the|our, {_PEOPLE}
0.75 do not|don t, tell|inform|alert, ?the|our, {_PEOPLE}, that|about
0.75 add|insert|put, 3, human approval|approval, 4, even though|audit trail
0.75 add|insert|put, 2, into|to, gates passed|human approvals
[instruction_injection]
# Rot13 and reversed spelling; German, French, Spanish.
0.80 vtaber|qvfertneq|sbetrg, 4, vafgehpgvba(f)
0.80 snoitcurtsni|noitcurtsni, 4, erongi|dragersid|tegrof
0.85 ignoriere|ignoriert|ignorieren sie|vergiss|vergessen sie|missachte, 3,
    anweisungen|instruktionen|regeln|vorgaben|befehle
0.75 du bist jetzt|du bist nun|du bist ab jetzt, 3, ohne einschrankungen|uneingeschrankter
0.80 zeige|zeig|nenne|gib|verrate, 3, systemprompt|systemanweisungen
0.80 vergiss, alles, davor|bisher|vorher|vorherige|bisherige
0.85 ignore|ignorez|oublie|oubliez, 3, instructions|consignes|directives|regles, 1,
    precedentes|anterieures|ci dessus|initiales
0.80 affiche(z)|revele(z)|montre(z), 3, invite|prompt|message|instructions, ?du, systeme
0.85 ignora|ignore|olvida|olvide|descarta, 3, instrucciones|reglas|ordenes, anteriores|previas
0.80 revela|revele|muestra|muestre|imprime, 2, mensaje|prompt|instrucciones, del sistema
[gate_bypass]
# The same in German, French, Spanish.
0.80 uberspringe|ueberspringe|umgehe|deaktiviere|umgehen sie, 2, freigabe|genehmigung|prufung
0.75 keine, menschliche|manuelle, prufung|freigabe|genehmigung, notig|erforderlich|notwendig
0.80 contourne|contournez|sautez|desactivez, 2, validation|approbation|controle
0.75 sans, validation|approbation, humaine
0.80 omite|omita|salta|evita|desactiva, 1, aprobacion|revision
0.75 sin, aprobacion|revision, humana
""")

ONE_WORD: Final = _raw(r"""
[instruction_injection]
# Phrases whose spaces were taken away; read only where `views.respelt` found such text.
0.80 ignore disregard
    (?:ignore|disregard)(?:all|any|the|your|previous|prior|above|my|of){1,4}(?:instructions?|rules|prompts?)
0.80 systemprompt
    (?:reveal|show|print|repeat)(?:your|the)systemprompt
[gate_bypass]
0.80 skip bypass disable
    (?:skip|bypass|disable)(?:the|human|all|this){0,3}(?:approval|review|gate|guardrail)
0.80 nohumanreview decisionto
    nohumanreview|set(?:the)?decisionto(?:publish|approved)
""")

RAW: Final = _raw(r"""
[instruction_injection]
# Chat templates and role tags.
0.80 <| sys>> inst] _of_turn> [tool_calls
    <\|[a-z_]{2,24}\|>|<</?sys>>|\[/?inst\]|<(?:start|end)_of_turn>|\[tool_calls\]
0.80 </system> </assistant> </developer>
    <(system|assistant|developer)>[^<]{4,400}</\1>
0.75 "role"
    "role" ?:\s{0,3}"(?:system|developer|assistant)"\s{0,3},
0.75 ##
    (?:^|\n)[ \t]{0,3}#{2,4} {0,3}(?:system|instructions?|response|assistant) {0,3}:
0.80 system: assistant: developer:
    (?:^|\n)[ \t]{0,8}(?:system|assistant|developer): {0,3}
    (?:you |ignore |accept |approve |from now |all |the user |i hereby)
0.75 human: assistant:
    (?:^|\n)[ \t]{0,8}(?:human|assistant):[^\n]{0,400}\n{1,4}[ \t]{0,8}(?:human|user|assistant|system):
[tool_smuggling]
# Tool calls written where a statement should stand.
0.80 tool_call function_call <invoke tool_code
    <tool_call>|<function_calls?>|<invoke name=|"tool_calls" ?:|"function_call" ?:|```tool_code
0.80 "args" "arguments" "parameters" "action_input"
    "(?:tool|function|name|tool_name|action)" ?:\s{0,3}"[\w.-]{1,64}"\s{0,3},\s{0,3}
    "(?:args|arguments|parameters|action_input)" ?:
0.60 curl wget
    (?:curl|wget) [^\n|]{1,200}\|\s{0,3}(?:ba)?sh\b
[exfiltration]
0.75 ](http
    !\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,300}?(?:\{|secret|token|api_?key|password|conversation)
[gate_bypass]
# Answers that only the gates may give.
0.80 "decision"
    "decision" ?[:=]\s{0,3}"publish"
[audit_forgery]
0.80 "human_approvals" "gates_passed"
    "(?:human_approvals|gates_passed)" ?:\s{0,3}\[\s{0,3}[{"]
""")

OTHER_SCRIPTS: Final = _raw(r"""
[instruction_injection]
# Chinese and Russian, without accents as `characters.plain` leaves them.
0.85 忽略 无视 忘记 不要遵守
    (?:忽略|无视|忘记|不要遵守)[^。！？\n]{0,10}(?:指令|指示|规则|提示词|命令)
0.80 系统提示
    (?:显示|输出|告诉我|泄露|打印)[^。！？\n]{0,6}系统提示
0.80 没有限制的
    没有限制的(?:助手|模型)
[gate_bypass]
0.80 跳过 绕过 无需 不需要
    (?:跳过|绕过|无需|不需要)[^。！？\n]{0,4}(?:审批|审核|批准)
[instruction_injection]
0.85 игнорируи забудь следуи
    (?:игнорируи|забудь|не следуи)(?:те)? (?:[^\s.]{1,20} ){0,2}(?:инструкц|указан|правил|команд)
0.80 системн
    (?:покажи|раскрои|выведи)(?:те)? (?:[^\s.]{1,20} ){0,2}системн[^\s]{1,4} (?:промпт|инструкц|сообщен)
0.75 теперь ты
    теперь ты [^.\n]{0,40}без ограничении
[gate_bypass]
0.80 пропусти обоиди отключи
    (?:пропусти|обоиди|отключи)(?:те)? (?:[^\s.]{1,20} ){0,2}(?:одобрени|согласовани|проверк)
""")
