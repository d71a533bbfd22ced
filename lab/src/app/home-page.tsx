import { stepHash, stories } from "../stories";
import { EXAMPLES } from "./examples";
import "./styles/home.css";

export function HomePage() {
  return (
    <div class="home">
      <header class="home-head">
        <h1>See what a queue does</h1>
        <p>
          Forebay simulates networks packet by packet. Here it runs in your browser: change a scenario, and see what
          each discipline makes of the same traffic. Nothing is sent anywhere.
        </p>
        <p class="home-actions">
          <a class="button primary" href="#/lab">
            Open the lab
          </a>
          <a class="button" href="#/capture">
            Drop a capture
          </a>
        </p>
      </header>
      <section aria-labelledby="stories-title">
        <h2 id="stories-title">Stories</h2>
        <p class="home-lead">Each asks a few questions. You turn one thing at a time, and see the answer.</p>
        <ol class="cards">
          {stories.map((story, i) => (
            <li key={story.name}>
              <a class="story-card" href={stepHash(story.name, 1)}>
                <span class="story-number" aria-hidden="true">
                  {i + 1}
                </span>
                <strong>{story.title}</strong>
                <span>{story.summary}</span>
                <span class="story-length">{story.steps.length} steps</span>
              </a>
            </li>
          ))}
        </ol>
      </section>
      <section aria-labelledby="examples-title">
        <h2 id="examples-title">Examples</h2>
        <p class="home-lead">Scenarios to begin with. Each opens in the lab.</p>
        <ul class="cards small">
          {EXAMPLES.map(it => (
            <li key={it.name}>
              <a class="example-card" href={`#/lab?example=${it.name}`}>
                <strong>{it.title}</strong>
                <span>{descriptionOf(it.text)}</span>
              </a>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

/** The description that a scenario gives of itself. */
function descriptionOf(text: string): string {
  return /^description = "([^"]*)"/m.exec(text)?.[1] ?? "";
}
