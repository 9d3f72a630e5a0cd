"""The training loop. It knows a System, batches and settings; what is learned, and from what, is no concern of it.

One round: the next global batch, one update, and, when due, a line of the log, a validation, a saved state. A state
is only ever saved between two rounds, so resuming is starting the loop at another round.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from xattend import registry
from xattend.data.corpus import Data
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.run import Run, to_json, write_atomic
from xattend.systems.base import System
from xattend.training.blame import blamed
from xattend.training.budget import Budget
from xattend.training.checkpoint import Saved, States, optimiser_state, restore_optimiser
from xattend.training.distributed import Group
from xattend.training.interrupt import Interrupt
from xattend.training.log import Log
from xattend.training.progress import Progress
from xattend.training.schedules import Schedule
from xattend.training.seeds import seed
from xattend.training.selection import Selection
from xattend.training.standing import Standing
from xattend.training.stream import Stream
from xattend.training.update import Outcome, Tally, Updater
from xattend.training.weights import MovingAverage, put, weights_of


@dataclass(frozen=True)
class Result:
    """How a training ended. `best` is the metric of the weights in RUN/model.safetensors; None without validation."""

    metric: str
    best: float | None
    step: int
    seconds: float
    stopped_because: str

    @property
    def exit_code(self) -> int:
        """What a command should exit with: 130 after Ctrl-C or SIGTERM, as shells do."""
        return 130 if self.stopped_because == "interrupted" else 0


class Trainer:
    """One training, in one or several processes."""

    def __init__(
        self, system: System, data: Data, recipe: Recipe, run: Run, group: Group, progress: Progress, interrupt: Interrupt
    ) -> None:
        self.system, self.data, self.run, self.group = system, data, run, group
        self.progress, self.interrupt, self.say = progress, interrupt, progress.say
        self.recipe, self.settings = recipe, recipe.training
        settings = self.settings
        self.budget, self.remark = Budget.of(settings)
        self.standing, self.states, self.log = Standing(), States(run.state), Log(run.metrics)
        self.stream = Stream(data.splits["train"], settings, group, self.standing)
        held_out = data.splits.get("validation")
        self.selection = Selection(system, recipe, run, self.states, group, self.standing, held_out)
        self.updater = Updater.of(system, recipe, group)
        self.optimiser = self.updater.optimiser
        self.rates = [float(part["lr"]) for part in self.optimiser.param_groups]
        schedule, given = recipe.part("schedule")
        self.schedule: Schedule = registry.build("schedule", schedule, **given)
        self.kinds = {"optimiser": recipe.part("optimiser")[0], "schedule": schedule}
        self.average = MovingAverage(system, settings.ema) if settings.ema else None
        self._check_validation(schedule)
        self.rate = self.norm = self.resumed_with = 0.0
        self.started = time.monotonic()
        self.asked_to_stop = self.save_due = False

    def _check_validation(self, schedule: str) -> None:
        needy = {
            "training.patience": self.settings.patience is not None,
            "training.target": self.settings.target is not None,
            f"training.metric = '{self.settings.metric}'": self.settings.metric != "loss",
            "schedule 'plateau'": schedule == "plateau",
        }
        if self.selection.validation is None and any(needy.values()):
            name = next(name for name, needs in needy.items() if needs)
            raise UserError(f"{name} needs validation data: set data.validation or data.split")

    def train(self, resume: bool) -> Result:
        """From the start or the last saved state to the end, or until interrupted."""
        self._begin(resume)
        self.system.train()
        reason = self._reason()
        while reason is None:
            self._round()
            reason = self._reason()
            if reason is None and self.save_due and self.standing.bad_in_a_row == 0:
                self._save()
        self.stream.close()
        return self._interrupted() if reason == "interrupted" else self._finish(reason)

    # --- the beginning

    def _begin(self, resume: bool) -> None:
        if not resume and self.run.state.exists():
            raise UserError(f"holds a saved state: go on with `xattend train --resume {self.run.path}`", file=self.run.path)
        saved = self.states.load(self.say) if resume else None
        if saved is not None:
            self._restore(saved)
        elif resume:
            self.say("no state was saved yet: starting from the beginning")
        self.group.copy_first([*weights_of(self.system).values()])
        self.started, self.resumed_with = time.monotonic(), self.standing.elapsed
        self.stream.open(self.say)
        if self.group.first:
            self.log.restart(self.standing.log_lines)
            self.run.mark_finished(False)
            if resume:  # settings that were given to go on with hold from now on; they fit, or the state would not have been restored
                self.run.exchange("recipe.toml", self.recipe.dump().encode())
        self.selection.publish_best()
        count = sum(parameter.numel() for parameter in self.updater.parameters)
        processes = f", {self.group.world} processes" if self.group.world > 1 else ""
        rows, updates = len(self.stream.split), len(self.stream.plan)
        self.say(f"{count:,} weights, {rows:,} rows, {updates:,} updates a pass over the data{processes}")
        if self.updater.precision != self.settings.precision:
            self.say(f"training.precision: this processor has no instructions for {self.settings.precision}; products are made in {self.updater.precision}, which is faster here")
        if self.remark:
            self.say(self.remark)
        if self.selection.validation is None:
            self.say("no validation data: the last weights are kept, whatever they are worth")

    def _restore(self, saved: Saved) -> None:
        if self.run.fingerprint != self.data.fingerprint:
            raise UserError("the data are not those this run was trained on: restore them, or start a new run", file=self.run.path)
        self.standing.restore(saved.trainer["standing"])
        if not self.group.first:
            self.standing.window = Tally()  # the saved one holds the sums of all processes
        put(self.system, saved.tensors["model"], self.run.state / str(self.standing.step) / "model.safetensors")
        before = saved.trainer["kinds"]
        for part, kind in self.kinds.items():
            if before[part] != kind:
                self.say(f"the {part} was '{before[part]}' and is '{kind}': it starts afresh")
        if before["optimiser"] == self.kinds["optimiser"]:
            restore_optimiser(self.optimiser, saved.tensors["optimiser"], saved.trainer["optimiser_numbers"])
        if before["schedule"] == self.kinds["schedule"]:
            self.schedule.restore(saved.trainer["schedule"])
        if self.average is not None:
            from_there = saved.tensors.get("average", saved.tensors["model"])
            self.average.weights = {name: tensor.clone() for name, tensor in from_there.items()}
        self.say(f"going on from step {self.standing.step}")

    # --- one round

    def _round(self) -> None:
        now, began = self.standing, time.monotonic()
        rows, batch = self.stream.next()
        self._set_rate()
        seed(self.settings.seed, now.step + 1, self.group.rank)
        try:
            outcome = self.updater.update(batch, stop=self.interrupt.asked, clock=self._clock())
        except UserError as error:
            raise blamed(error, self.system, batch, self.stream.split) from None
        now.step += 1
        now.elapsed, self.norm, self.asked_to_stop = outcome.clock, outcome.norm, outcome.stop
        if outcome.finite:
            now.bad_in_a_row = 0
            now.window.add(outcome.own)
            if self.average is not None:
                self.average.update(self.system, now.step)
        else:
            self._bad(outcome, rows)
        new_pass = self.stream.advance(self.say)
        if self.group.first:
            now.window.seconds += time.monotonic() - began
        self._show(outcome)
        if now.step % self.settings.log_every == 0:
            self._write_line()
        every = self.settings.validate_every
        if now.step % every == 0 if every else new_pass:
            self._validate()
        self.save_due = self.save_due or now.step % self.settings.save_every == 0

    def _clock(self) -> float:
        return self.resumed_with + time.monotonic() - self.started

    def _progress(self) -> float:
        return self.budget.progress(self.standing.step, self.stream.epoch, self.standing.elapsed)

    def _set_rate(self) -> None:
        factor = self.schedule.factor(self.standing.step + 1, self.stream.epoch, self._progress())
        for part, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            part["lr"] = rate * factor
        self.rate = self.rates[0] * factor

    def _reason(self) -> str | None:
        """Why to stop now, if there is a reason. The same in every process, as it depends on what all of them know."""
        now = self.standing
        if self.asked_to_stop or (self.group.world == 1 and self.interrupt.asked):
            return "interrupted"
        patience = self.settings.patience
        if patience is not None and now.missed >= patience:
            return f"no better {self.settings.metric} in {patience} validations"
        if self.selection.good_enough():
            return f"{self.settings.metric} as good as training.target"
        # time is kept for the last validation
        return self.budget.reached(now.step, self.stream.epoch, now.elapsed + now.validation_seconds)

    def _bad(self, outcome: Outcome, rows: Any) -> None:
        """An update that is not finite is skipped and its rows written down; too many in a row end the training."""
        now = self.standing
        now.bad_in_a_row += 1
        now.skipped += 1
        file = self.run.bad / f"step-{now.step}.json"
        if self.group.first:
            texts = [(int(row), *self.stream.split.texts(int(row))) for row in rows]
            write_atomic(file, to_json({
                "step": now.step, "loss": str(outcome.loss), "gradient_norm": str(outcome.norm),
                "rows": [{"row": row, "source": source, "target": target} for row, source, target in texts],
            }))  # fmt: skip
            self.log.write(step=now.step, event="skipped", rows=str(file), seconds=round(now.elapsed, 3))
        self.say(f"step {now.step}: loss {outcome.loss:g}, gradient norm {outcome.norm:g}: update skipped; its rows are in {file}")
        if now.bad_in_a_row >= self.settings.nan_limit:
            raise UserError(
                f"{now.bad_in_a_row} updates in a row were not finite (training.nan_limit): look at {self.run.bad}, or lower "
                f"optimiser.lr; `xattend train --resume {self.run.path}` starts from the last good state"
            )  # fmt: skip

    # --- what is shown and written

    def _show(self, outcome: Outcome) -> None:
        now = self.standing
        speed = now.window.tokens / now.window.seconds if now.window.seconds else 0.0
        self.progress.show(
            f"step {now.step}  epoch {self.stream.epoch:.2f}  loss {outcome.loss:.4f}  {speed * self.group.world:,.0f} tokens/s",
            self._progress(), self._clock(),
        )  # fmt: skip

    def _merge_window(self) -> Tally:
        """The sums of all processes, in the first; the others start anew."""
        whole = Tally()
        for window in self.group.gather(self.standing.window.__dict__):
            whole.add(Tally(**window))
        self.standing.window = whole if self.group.first else Tally()
        return whole

    def _write_line(self) -> None:
        now, window = self.standing, self._merge_window()
        count = window.count(self.settings.normalise)
        if self.group.first:
            self.log.write(
                step=now.step, epoch=round(self.stream.epoch, 6), loss=window.total / count,
                **{name: value / count for name, value in window.parts.items()},
                lr=self.rate, grad_norm=self.norm, skipped=now.skipped,
                tokens_per_second=round(window.tokens / window.seconds, 1) if window.seconds else 0.0,
                seconds=round(now.elapsed, 3),
            )  # fmt: skip
        now.window = Tally()

    def _validate(self) -> None:
        now, began = self.standing, time.monotonic()
        scores, better = self.selection.judge(self.average.weights if self.average is not None else weights_of(self.system))
        if self.selection.validation is not None:
            self.schedule.observe(better)
            self._tell_scores(scores, f"best {self.settings.metric} so far" if better else "")
        now.elapsed, now.validation_seconds = self.group.tell([self._clock(), time.monotonic() - began])

    def _tell_scores(self, scores: dict[str, float], remark: str) -> None:
        now = self.standing
        if self.group.first:
            named = {f"validation_{name}": value for name, value in scores.items()}
            self.log.write(
                step=now.step, epoch=round(self.stream.epoch, 6), event="validation", **named, best=bool(remark),
                seconds=round(now.elapsed, 3),
            )  # fmt: skip
        said = "  ".join(f"{name} {value:.4g}" for name, value in scores.items())
        self.say(f"step {now.step}  epoch {self.stream.epoch:.2f}  validation {said}  {remark}".rstrip())

    def _save(self) -> None:
        now = self.standing
        self.save_due = False
        self._merge_window()
        if not self.group.first or self.states.newest == now.step:
            return
        tensors, numbers = optimiser_state(self.optimiser)
        files = {"model": weights_of(self.system), "optimiser": tensors}
        if self.average is not None:
            files["average"] = self.average.weights
        self.log.sync()
        now.log_lines = self.log.lines
        kept = now.referred()
        trainer = {"standing": now.to_json(), "kinds": self.kinds, "optimiser_numbers": numbers, "schedule": self.schedule.state()}
        self.states.save(now.step, files, trainer, kept)

    # --- the end

    def _interrupted(self) -> Result:
        self._save()
        self.say(f"stopped at step {self.standing.step}; go on with: xattend train --resume {self.run.path}")
        return self._result("interrupted", self.standing.best)

    def _finish(self, reason: str) -> Result:
        now = self.standing
        if now.validated != now.step:
            self._validate()
        self._save()
        best = now.best
        if now.best_step is None:
            raise UserError(f"no validation gave a finite {self.settings.metric}: there is no model to keep; see {self.run.metrics}")
        if len(now.snapshots) > 1:
            scores, better = self.selection.judge_average()
            kept = "kept" if better else f"worse than step {now.best_step}, which is kept"
            self.say(f"average of the last {len(now.snapshots)} validations: {kept}")
            if scores:
                self._tell_scores(scores, "average" if better else "")
            best = scores.get(self.settings.metric) if better else best
        if self.group.first:
            self.run.mark_finished(True)
        figure = "" if best is None else f", best {self.settings.metric} {best:.4g}"
        self.say(f"done after {now.step} steps: {reason}{figure}")
        return self._result(reason, best)

    def _result(self, reason: str, best: float | None) -> Result:
        return Result(self.settings.metric, best, self.standing.step, self._clock(), reason)
