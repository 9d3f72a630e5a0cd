"""The command line. One file a command; a command's file, and all it needs, is imported when that command runs."""

from __future__ import annotations

import importlib
import os
import sys

import click

from xattend import __version__
from xattend.errors import UserError

# command -> what `xattend --help` says of it. The module is xattend.cli.<command>, its click command is `command`.
COMMANDS = {
    "recipes": "What ships: system, paper, task, minutes, our number.",
    "parts": "What recipes are made of, and what each part may be told.",
    "init": "Look at your data and write a commented recipe for it.",
    "check": "Look for problems in a recipe and its data, before training.",
    "train": "Train a recipe, or go on with a run.",
    "evaluate": "Score a run on held-out data.",
    "predict": "Write outputs for texts or a file.",
    "score": "Log-probability of given targets.",
    "report": "A run as one HTML file: curves, metrics, examples with attention.",
    "view": "A page to ask a run, see where it looks, and edit that.",
    "audit": "How often beam search misses the likeliest output.",
    "align": "Where each target unit looked, as alignment pairs.",
    "grid": "Train every combination of parts and print the cross table.",
    "reproduce": "A paper's number, and ours.",
    "gradients": "Hard attention's gradients, exact and estimated.",
    "bench": "How fast this machine trains each recipe, and where the time goes.",
    "doctor": "What is installed, what is missing, how to get it.",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"xattend.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table above, so that --help imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="xattend")
def cli() -> None:
    """Attention models that read anything and write a sequence: train them, run them, see where they looked."""


def main(command: click.Command = cli) -> None:
    """Runs the command line; a user's mistake is one line and exit code 2."""
    try:
        code = command.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except UserError as error:
        _fail(str(error))
    except (click.exceptions.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        _fail(f"{error.format_message()} (see `{error.ctx.command_path if error.ctx else 'xattend'} --help`)")
    except click.ClickException as error:
        _fail(error.format_message())
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away: no more to say
        sys.exit(141)
    except OSError as error:
        if error.filename is None:  # our own output: a full disk, say; Python would complain again when it ends
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        _fail(str(UserError(error.strerror or str(error), file=error.filename)))
    except UnicodeEncodeError as error:
        _fail(f"the output has letters that {error.encoding} has not: set PYTHONIOENCODING=utf-8")


def _fail(message: str) -> None:
    click.echo(f"xattend: {' '.join(message.split())}", err=True)
    sys.exit(2)
