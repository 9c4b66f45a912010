import type { BenchEnvironment } from './environment.ts';

/** One line of the scorecard: the figure, its unit, and the floor measured in the same run. `ratio` is value to floor. */
export interface Figure {
  figure?: string;
  value: number;
  unit: string;
  floor: number;
  ratio: number;
  settings: Record<string, unknown>;
}

export type Row = (environment: BenchEnvironment) => Promise<Figure[]>;
