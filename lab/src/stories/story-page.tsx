// A guided page: text next to a live scenario, one step at a time.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Lab } from "../app/lab";
import { textWithUnit } from "../charts/units";
import type { RunResult } from "../engine/protocol";
import { shownQuantity, Text } from "./content";
import { loadStory, stepHash, storyAfter } from "./index";
import { markSeen, seenSteps } from "./progress";
import { Shares, type Starving } from "./shares";
import type { Step, Story } from "./story";
import "./story.css";

/** How long the reader leaves the slider alone before the answer opens. */
const PAUSE_MS = 700;

export interface StoryPageProps {
  name: string;
  /** The number of the step, from 1. */
  step: number;
}

export function StoryPage({ name, step }: StoryPageProps) {
  const loaded = useSignal<Story | "loading" | "missing">("loading");
  useEffect(() => {
    let isCurrent = true;
    const found = loadStory(name);
    loaded.value = found ? "loading" : "missing";
    void found?.then(story => {
      if (isCurrent) {
        loaded.value = story;
      }
    });
    return () => {
      isCurrent = false;
    };
  }, [name, loaded]);
  const story = loaded.value;
  if (story === "missing") {
    return (
      <article class="story">
        <h1>There is no such story</h1>
        <p>
          <a href="#/">All stories</a>
        </p>
      </article>
    );
  }
  if (story === "loading" || story.name !== name) {
    return <article class="story" aria-busy="true" />;
  }
  const number = Math.min(Math.max(1, Math.trunc(step) || 1), story.steps.length);
  return <StoryView story={story} number={number} />;
}

function StoryView({ story, number }: { story: Story; number: number }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(number);
  useArrowKeys(story, number);
  useEffect(() => {
    document.title = `${story.title}, step ${number} – Forebay lab`;
    if (shown.current !== number) {
      shown.current = number;
      scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
  }, [story, number]);
  const step = story.steps[number - 1] as Step;
  return (
    <article class="story">
      <header class="story-head">
        <h1>{story.title}</h1>
        <StepList story={story} number={number} />
      </header>
      <section class="story-text">
        <p class="story-count">
          Step {number} of {story.steps.length}
        </p>
        <h2 ref={heading} tabIndex={-1}>
          {step.title}
        </h2>
        <p class="story-question">
          <Text content={step.question} />
        </p>
        {number === 1 && (
          <div class="story-intro">
            <Text content={story.intro} />
          </div>
        )}
        <Text content={step.text} />
        <p class="story-turn">
          Turn <strong>{step.turn.label}</strong>: {shownQuantity(step.turn.from)} to {shownQuantity(step.turn.to)}.
        </p>
      </section>
      <Live key={`${story.name}/${number}`} story={story} number={number} step={step} />
      <StepLinks story={story} number={number} />
    </article>
  );
}

/** The scenario of a step, and the answer, which opens on request or after the reader has turned the value. */
function Live({ story, number, step }: { story: Story; number: number; step: Step }) {
  const isOpen = useSignal(false);
  const result = useSignal<RunResult | undefined>(undefined);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const open = () => {
    clearTimeout(timer.current);
    isOpen.value = true;
    markSeen(story.name, number);
  };
  const close = () => {
    isOpen.value = false;
  };
  const turned = (text: string) => {
    clearTimeout(timer.current);
    if (!isOpen.peek() && text !== step.scenario) {
      timer.current = window.setTimeout(open, PAUSE_MS);
    }
  };
  const { key, from, to, label } = step.turn;
  return (
    <>
      <div class="story-lab">
        <h3 class="sr-only">The scenario, live</h3>
        <Lab
          mode="story"
          text={step.scenario}
          compare={step.compare}
          panels={step.show}
          pins={[{ key, from, to, label }]}
          onText={turned}
          onResults={found => {
            result.value = found[0]?.result;
          }}
        />
        {result.value?.deadlock && <Deadlock {...result.value.deadlock} />}
        {step.starving && result.value && <Shares result={result.value} starving={starvingOf(step.starving)} />}
      </div>
      <section class="story-see">
        <button
          type="button"
          aria-expanded={isOpen.value}
          aria-controls="story-answer"
          onClick={isOpen.value ? close : open}
        >
          What to see
        </button>
        <div id="story-answer" class="story-answer" aria-live="polite">
          {isOpen.value && <Text content={step.see} />}
        </div>
      </section>
    </>
  );
}

function Deadlock({ links, since_s }: { links: string[]; since_s: number }) {
  return (
    <p class="story-note">
      <strong>Deadlock</strong> since {textWithUnit("since_s", since_s)}: {links.join(" waits for ")} waits for{" "}
      {links[0]}.
    </p>
  );
}

/** Rates of stories are in kb/s. */
function starvingOf({ group, below }: NonNullable<Step["starving"]>): Starving {
  return { group, below_bps: Number.parseFloat(below) * 1e3 };
}

function StepList({ story, number }: { story: Story; number: number }) {
  const seen = seenSteps.value;
  return (
    <nav aria-label="Steps of this story">
      <ol class="story-steps">
        {story.steps.map((step, i) => {
          const isSeen = seen.has(`${story.name}/${i + 1}`);
          return (
            <li key={step.title}>
              <a
                href={stepHash(story.name, i + 1)}
                class={isSeen ? "is-seen" : undefined}
                aria-current={i + 1 === number ? "step" : undefined}
                title={step.title}
              >
                <span aria-hidden="true">{i + 1}</span>
                <span class="sr-only">
                  {`Step ${i + 1}: ${step.title}`}
                  {isSeen && ", seen"}
                </span>
              </a>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

function StepLinks({ story, number }: { story: Story; number: number }) {
  const before = story.steps[number - 2];
  const after = story.steps[number];
  return (
    <footer class="story-foot">
      <nav class="story-links" aria-label="Previous and next step">
        {before && (
          <a class="button" rel="prev" href={stepHash(story.name, number - 1)} title={before.title}>
            <Arrow sign="←" />
            Back
            <span class="sr-only">{` to ${before.title}`}</span>
          </a>
        )}
        {after ? (
          <a class="button primary" rel="next" href={stepHash(story.name, number + 1)}>
            {after.title}
            <Arrow sign="→" />
          </a>
        ) : (
          <NextStory name={story.name} />
        )}
      </nav>
      {!after && <ReadOn page={story.readOn} />}
      <p class="story-keys">
        The arrow keys <kbd>←</kbd> and <kbd>→</kbd> go to the previous and the next step.
      </p>
    </footer>
  );
}

function Arrow({ sign }: { sign: string }) {
  return (
    <span class="story-arrow" aria-hidden="true">
      {sign}
    </span>
  );
}

function NextStory({ name }: { name: string }) {
  const next = storyAfter(name);
  return next ? (
    <a class="button primary" href={stepHash(next.name, 1)}>
      Next story: {next.title}
      <Arrow sign="→" />
    </a>
  ) : (
    <a class="button primary" href="#/">
      All stories
    </a>
  );
}

/** A link where the lab is a part of the documentation; elsewhere, the name of its page. */
function ReadOn({ page }: { page: string }) {
  const href = documentationUrl(page, location.pathname);
  return (
    <p class="story-read">
      {href ? (
        <a href={href}>Read on in the documentation</a>
      ) : (
        <>
          Read on in the documentation: <code>docs/{page.replace(/\.html$/, ".md")}</code>
        </>
      )}
    </p>
  );
}

/** The documentation has the lab in `_static/lab`. */
export function documentationUrl(page: string, pathname: string): string | undefined {
  return /\/_static\/lab\/[^/]*$/.test(pathname) ? `../../${page}` : undefined;
}

/** Turns pages by the arrow keys, except in the lab and in fields, which use them. */
function useArrowKeys(story: Story, number: number): void {
  useEffect(() => {
    const turn = (event: KeyboardEvent) => {
      const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const target = event.target instanceof Element ? event.target : undefined;
      const isTaken = event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
      const next = number + way;
      if (way === 0 || isTaken || next < 1 || next > story.steps.length) {
        return;
      }
      if (!target?.closest(".lab, input, select, textarea, [contenteditable]")) {
        event.preventDefault();
        location.hash = stepHash(story.name, next);
      }
    };
    addEventListener("keydown", turn);
    return () => removeEventListener("keydown", turn);
  }, [story, number]);
}
