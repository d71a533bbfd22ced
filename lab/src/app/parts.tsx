// Parts of the page that have their code to themselves: the first paint does not wait for them.

import type { EditorProps } from "../editor/editor";
import type { StoryPageProps } from "../stories/story-page";
import { lazily } from "./lazy";
import type { WatchViewsProps } from "./watch-views";

export const Editor = lazily<EditorProps>(
  () => import("../editor/editor").then(it => it.Editor),
  ({ text }) => <pre class="editor-instead">{text}</pre>,
);

export const Watching = lazily<WatchViewsProps>(
  () => import("./watch-views").then(it => it.WatchViews),
  () => null,
);

export const StoryPage = lazily<StoryPageProps>(
  () => import("../stories/story-page").then(it => it.StoryPage),
  () => <article class="story" aria-busy="true" />,
);
