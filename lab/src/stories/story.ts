// A guided page, as the build makes it from `lab/stories`.

import type { Panel } from "../app/figures";

export type Tag = "p" | "em" | "strong" | "code" | "ul" | "ol" | "li" | "span";

/** Text, or an element with text in it. */
export type Content = string | { tag: Tag; children: Content[] };

export interface Step {
  title: string;
  text: Content[];
  question: Content[];
  see: Content[];
  /** The whole scenario of the step. */
  scenario: string;
  /** Disciplines next to each other; none: the queue of the scenario. */
  compare: string[];
  /** The value that the reader turns. */
  turn: { key: string; from: string; to: string; label: string };
  show: Panel[];
  /** Count the flows of a group that get less than this rate, such as `20 kbps`. */
  starving?: { group: string; below: string };
}

export interface Story {
  name: string;
  title: string;
  summary: string;
  /** A page of the documentation. */
  readOn: string;
  intro: Content[];
  steps: Step[];
}

/** A story in a list. */
export interface StoryEntry {
  name: string;
  title: string;
  summary: string;
  order: number;
  /** The titles of its steps. */
  steps: string[];
}
