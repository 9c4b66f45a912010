import type { Tone } from '../ui/status.tsx';

/** The shape of one kind of figure: told by shape and position too, and not by colour alone. */
export interface Series {
  name: string;
  tone: Tone;
  /** Bars stand on one side of their moment, so that two fit. */
  shape: 'line' | 'bar on the left' | 'bar on the right' | 'hollow bar on the right';
  /** Dashes of a line: drawn and left out, in pixels. */
  dash?: readonly number[];
  values: readonly (number | null)[];
}

export interface Drawn {
  /** Milliseconds since 1970, of every value. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  /** The scale reaches this at least: the marks of a smaller one would repeat each other. */
  least: number;
}

export const HEIGHT = 220;
