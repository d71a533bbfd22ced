// Dark or light: as the system wants it, or as the reader chose.

import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "forebay-lab-theme";
const query = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(query.matches);
query.addEventListener("change", event => {
  systemIsDark.value = event.matches;
});

export const theme = signal<Theme>(stored());
export const isDark = computed(() => (theme.value === "auto" ? systemIsDark.value : theme.value === "dark"));

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

function stored(): Theme {
  const found = recall(KEY);
  return found === "light" || found === "dark" ? found : "auto";
}

export function nextTheme(): void {
  const order: Theme[] = ["auto", "light", "dark"];
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] as Theme;
  remember(KEY, theme.value);
}

/** Storage may be switched off in this browser; then nothing is kept. */
export function recall(key: string, kind?: "session"): string | null {
  try {
    return (kind ? sessionStorage : localStorage).getItem(key);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string, kind?: "session"): void {
  try {
    (kind ? sessionStorage : localStorage).setItem(key, value);
  } catch {
    // See `recall`.
  }
}
