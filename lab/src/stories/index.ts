// The list of stories, and how to load one.

import type { Story, StoryEntry } from "./story";

const entries = import.meta.glob<StoryEntry>("../../stories/*/story.md", {
  query: "?entry",
  import: "default",
  eager: true,
});
const loaders = import.meta.glob<Story>("../../stories/*/story.md", { import: "default" });

/** All stories in their order. */
export const stories: readonly StoryEntry[] = Object.values(entries).sort((a, b) => a.order - b.order);

/** Loads a story; undefined for a name that no story has. */
export function loadStory(name: string): Promise<Story> | undefined {
  return Object.hasOwn(loaders, pathOf(name)) ? loaders[pathOf(name)]?.() : undefined;
}

function pathOf(name: string): string {
  return `../../stories/${name}/story.md`;
}

/** The place of a step in the address. Steps count from 1. */
export function stepHash(name: string, step: number): string {
  return `#/story/${encodeURIComponent(name)}/${step}`;
}

/** The story after this one. */
export function storyAfter(name: string): StoryEntry | undefined {
  const place = stories.findIndex(it => it.name === name);
  return place < 0 ? undefined : stories[place + 1];
}
