import type { Properties } from '../page-context.ts';
import type { ChartData } from './shapes.ts';

export const WIDTH = 600;
export const HEIGHT = 280;

/** Tones of the console, which have enough contrast in both schemes. Beyond these they begin again. */
const tones = ['busy', 'wait', 'ok', 'bad', 'idle'];
export const colourOf = (at: number) => `var(--${tones[at % tones.length]})`;

export interface MarksProps {
  data: ChartData;
  properties: Properties;
  /** The sectors have equal angles, and areas by their values. */
  isArea: boolean;
  onMark: (event: Readonly<Record<string, unknown>>) => void;
}
