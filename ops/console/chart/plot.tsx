import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { type Drawn, HEIGHT, type Series } from './series.ts';

/** Drawn anew when the figures, the width or the colours change. */
export function Plot(drawn: Drawn) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const latest = useRef(drawn);
  latest.current = drawn;
  const shapes = drawn.series.map(({ name }) => name).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: other series are another plot; new figures come into the same one
  useEffect(() => {
    const { current: root } = container;
    if (!root) return;
    const made = new UPlot(optionsOf(latest.current, root.clientWidth), dataOf(latest.current), root);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: root.clientWidth, height: HEIGHT }));
    observer.observe(root);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shapes]);
  useEffect(() => plot.current?.setData(dataOf(drawn)), [drawn]);
  const scheme = useComputedColorScheme('light');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read while it is drawn
  useEffect(() => {
    // The provider of the theme sets the colours in an effect of its own, which runs after this one.
    // Bars keep the colour with their paths.
    const frame = requestAnimationFrame(() => plot.current?.redraw());
    return () => cancelAnimationFrame(frame);
  }, [scheme]);
  return <div ref={container} style={{ height: HEIGHT }} />;
}

function dataOf({ times, series }: Drawn): UPlot.AlignedData {
  return [times.map((time) => time / 1_000), ...series.map(({ values }) => [...values])];
}

/** Around a moment that is the only one. */
const ALONE_S = 30;
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const clockWithSeconds = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

function optionsOf({ series, format, least }: Drawn, width: number): UPlot.Options {
  const lines = { stroke: () => colour('--line'), width: 1 };
  const axis: UPlot.Axis = { stroke: () => colour('--mantine-color-dimmed'), grid: lines, ticks: lines };
  const hasBars = series.some(({ shape }) => shape !== 'line');
  return {
    ...{ width, height: HEIGHT },
    legend: { show: false },
    cursor: { show: false },
    scales: {
      // From the figures: uPlot gives no limits before the first drawing, and later the widened ones.
      x: { range: ({ data: [times] }) => rangeOf(times, hasBars) },
      y: { range: (_, _from, to) => [0, Math.max(to, least) * 1.05] },
    },
    axes: [
      { ...axis, space: 75, values: (_plot, times, _axis, _space, step) => timesOf(times, step) },
      { ...axis, size: 64, values: (_, values) => values.map(format) },
    ],
    series: [{}, ...series.map(styleOf)],
  };
}

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** With seconds where the marks lie less than a minute apart, and days where they lie a day apart: they would repeat each other. */
function timesOf(times: readonly number[], step: number): string[] {
  const { format } = step < 60 ? clockWithSeconds : step < 86_400 ? clock : day;
  return times.map((time) => format(time * 1_000));
}

/** Half of the first and of the last bar lie beyond their moments, and one moment alone has room around it. */
function rangeOf(times: ArrayLike<number>, hasBars: boolean): [number, number] {
  const from = times[0] ?? 0;
  const to = times[times.length - 1] ?? 0;
  const margin = from === to ? ALONE_S : hasBars ? (to - from) / 40 : 0;
  return [from - margin, to + margin];
}

function styleOf({ tone, shape, dash }: Series): UPlot.Series {
  const stroke = () => colour(`--${tone}`);
  // A single moment makes no line.
  const points: UPlot.Series.Points = { show: ({ data: [times] }) => times.length === 1 };
  if (shape === 'line') return { stroke, width: 2, points, ...(dash && { dash: [...dash] }) };
  const side = shape === 'bar on the left' ? -1 : 1;
  return {
    stroke,
    width: 1.5,
    points: { show: false },
    ...(shape !== 'hollow bar on the right' && { fill: stroke }),
    // Its share of the room between two moments.
    ...(UPlot.paths.bars && { paths: UPlot.paths.bars({ size: [0.35, 24], align: side }) }),
  };
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
