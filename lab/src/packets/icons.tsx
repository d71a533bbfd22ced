const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z",
  next: "M3 2.5v11l7-5.5zM11 2.5h2v11h-2z",
  previous: "M13 2.5v11l-7-5.5zM3 2.5h2v11h-2z",
  first: "M14 2.5v11l-5.5-5.5zM8.5 2.5v11l-5.5-5.5zM1.5 2.5h1.5v11h-1.5z",
};

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="pk-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="currentColor" />
    </svg>
  );
}
