"""Make the project's virtual environment, or bring it up to date; do nothing when it is.

    python3 tools/setup_env.py .venv          the locked packages and this project
    python3 tools/setup_env.py .venv --live   and the live and ray extras (torch, transformers, ray)

Uses the standard library alone. What is installed is stamped with a digest of the files that
decide it, so that neither a fresh checkout's file times nor a moved folder is taken for current.
"""

import argparse
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
PROJECT = ROOT / "pyproject.toml"
LIVE = ROOT / "constraints-live.txt"


def check_python():
    """Stop with advice when this Python can't carry the project."""
    if not (3, 11) <= sys.version_info[:2] < (3, 14):
        got = ".".join(map(str, sys.version_info[:3]))
        sys.exit(
            f"Python 3.11, 3.12 or 3.13 is needed, got {got} ({sys.executable}).\n"
            "Name another one: make book PYTHON=/path/to/python3.12"
        )
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(
            "This Python has no `ensurepip`, which makes virtual environments.\n"
            "On Debian and Ubuntu: apt install python3-venv"
        )


def digest(*files):
    """Digest of the files that decide what is installed, and of this Python's version."""
    parts = [f.read_bytes() for f in files] + ["{}.{}".format(*sys.version_info).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def pip(python, *arguments):
    """Run pip in the environment, showing errors alone."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-qq"]
    done = subprocess.run([*command, *map(str, arguments)], cwd=str(ROOT))
    if done.returncode:
        sys.exit(f"pip failed (exit {done.returncode}); the lines above say why.")


def usable(venv, python):
    """Whether `venv` stands where it was made, has pip, and is of this Python's version."""
    probe = "import sys, pip; print(sys.prefix); print('%d.%d' % sys.version_info[:2])"
    if not python.exists():
        return False
    done = subprocess.run([str(python), "-c", probe], capture_output=True, text=True)
    wanted = [str(venv), "{}.{}".format(*sys.version_info)]
    activate = venv / "bin" / "activate"  # like every script in bin/, it names its folder
    made_here = activate.exists() and str(venv) in activate.read_text(encoding="utf-8")
    return done.returncode == 0 and made_here and done.stdout.splitlines() == wanted


def create(venv):
    """Make `venv` anew, replacing what stands there."""
    if venv.exists():
        print(f"Replacing {venv.name}: of another Python, moved, or incomplete.")
        if Path(sys.prefix).resolve() == venv.resolve():
            sys.exit("It is active in this shell; run `deactivate` and try again.")
        if not (venv / "pyvenv.cfg").exists() and any(venv.iterdir()):
            sys.exit(f"{venv} is not a virtual environment; move it away first.")
        shutil.rmtree(str(venv))
    done = subprocess.run([sys.executable, "-m", "venv", str(venv)])
    if done.returncode:
        sys.exit("`python -m venv` failed; the lines above say why.")


def locked_versions():
    """Give the lock without its hashes: what adding the live extra must not move."""
    pins = re.findall(r"^(\S+==\S+(?: ; [^\\\n]+)?)", LOCK.read_text(encoding="utf-8"), flags=re.M)
    return "".join(pin.strip() + "\n" for pin in pins)


def main():
    """Bring the environment named on the command line up to date."""
    check_python()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("venv", type=Path)
    parser.add_argument("--live", action="store_true", help="add torch, transformers and ray")
    options = parser.parse_args()
    venv = ROOT / options.venv
    python = venv / "bin" / "python"
    if not usable(venv, python):
        create(venv)
    base, live = venv / "vca-base.stamp", venv / "vca-live.stamp"
    key = digest(LOCK, PROJECT)
    if not (base.exists() and base.read_text() == key):
        print(
            f"Installing the locked packages into {venv.name} (a minute or two) ...",
            flush=True,
        )
        base.unlink(missing_ok=True)
        pip(python, "--require-hashes", "-r", LOCK)
        pip(python, "--no-deps", "-e", ".")
        base.write_text(key)
    key = digest(LOCK, PROJECT, LIVE)
    if options.live and not (live.exists() and live.read_text() == key):
        print("Installing torch, transformers and ray (some minutes, several GB) ...", flush=True)
        live.unlink(missing_ok=True)
        pins = venv / "locked.txt"
        pins.write_text(locked_versions(), encoding="utf-8")
        pip(python, "-c", LIVE, "-c", pins, "-e", ".[live,ray]")
        live.write_text(key)


if __name__ == "__main__":
    main()
