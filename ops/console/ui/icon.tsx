import { type IconName, outlines } from './outlines.ts';

export type { IconName };

/** Says nothing to screen readers: a word beside it does. */
export function Icon({ name, ...more }: { name: IconName; size?: number; isTurning?: boolean }) {
  return <Outline path={outlines[name]} {...more} />;
}

/** A drawing of lines by its path, as large as an icon. */
export function Outline({ path, size = 16, isTurning = false }: { path: string; size?: number; isTurning?: boolean }) {
  return (
    <svg
      className={isTurning ? 'turning' : undefined}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={2.2}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={path} />
    </svg>
  );
}
