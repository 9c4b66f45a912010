import { isObject } from '../../../ui/is-object.ts';

/** A dataset of a chart, as the server has shaped it. */
export interface Dataset {
  name: string;
  values: readonly number[];
  points: readonly Point[];
}

export interface Point {
  x: number;
  y: number;
  r: number;
}

export interface ChartData {
  labels: readonly string[];
  datasets: readonly Dataset[];
}

/** More of them would be a surface, and no marks. */
const MAX_LABELS = 500;
const MAX_POINTS = 2_000;

export function chartData(given: unknown): ChartData {
  const { labels, datasets } = isObject(given) ? given : {};
  const names = new Set<string>();
  const unique = (label: unknown, at: number) => {
    const own = typeof label === 'string' && label !== '' ? label : `Series ${at + 1}`;
    const name = names.has(own) ? `${own} (${at + 1})` : own;
    names.add(name);
    return name;
  };
  return {
    labels: [...new Set((Array.isArray(labels) ? labels : []).slice(0, MAX_LABELS).map(String))],
    datasets: (Array.isArray(datasets) ? datasets : []).filter(isObject).map(({ label, data }, at) => {
      const all: readonly unknown[] = Array.isArray(data) ? data : [];
      return {
        name: unique(label, at),
        values: all.slice(0, MAX_LABELS).map((value) => finite(value)),
        points: all
          .filter(isObject)
          .slice(0, MAX_POINTS)
          .map(({ x, y, r }) => ({ x: finite(x), y: finite(y), r: finite(r) })),
      };
    }),
  };
}

function finite(value: unknown): number {
  const number = Number(value);
  return Number.isFinite(number) ? number : 0;
}

/** Values of an axis from below the least to above the greatest, at round steps; zero is among them for bars. */
export function axisOf(
  values: readonly number[],
  fromZero: boolean,
): { low: number; high: number; ticks: readonly number[] } {
  const all = fromZero || values.length === 0 ? [0, ...values] : values;
  const [least, most] = all.reduce(
    ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
    [all[0] ?? 0, all[0] ?? 0],
  );
  const step = roundStep((most - least || Math.abs(most) || 1) / 5);
  const low = Math.floor(least / step) * step;
  const high = Math.max(Math.ceil(most / step) * step, low + step);
  const count = Math.round((high - low) / step);
  return { low, high, ticks: Array.from({ length: count + 1 }, (_, at) => Number((low + at * step).toPrecision(12))) };
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const part = rough / power;
  return (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10) * power;
}

/** For each label the sums up to each dataset, so that bars stand on one another. */
export function stackedOf(datasets: readonly Dataset[], count: number): { from: number; to: number }[][] {
  const ends = Array.from({ length: count }, () => ({ up: 0, down: 0 }));
  return datasets.map(({ values }) =>
    ends.map((end, at) => {
      const value = values[at] ?? 0;
      const side = value < 0 ? 'down' : 'up';
      const from = end[side];
      end[side] += value;
      return { from, to: end[side] };
    }),
  );
}
