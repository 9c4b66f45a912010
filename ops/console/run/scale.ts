import type { Span } from '../client/run-steps.ts';

/** Maps times to places from 0 to 1. Times in which the run only waited are cut to a small width. */
export interface Scale {
  position(at: number): number;
  /** Where time was cut, and how much. */
  cuts: { position: number; ms: number }[];
}

/** The share of the busy time above which a wait is cut; shorter waits are drawn as they are. */
const CUT_FROM = 0.5;
const CUT_WIDTH = 0.08;

export function scaleOf(spans: readonly Span[]): Scale {
  const busy = unionOf(spans.filter(({ kind }) => kind !== 'SUSPENDED' && kind !== 'queue'));
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(...spans.map((span) => span.to));
  if (spans.length === 0 || to <= from) return { position: () => 0, cuts: [] };

  const busyMs = Math.max(
    1,
    busy.reduce((sum, part) => sum + part.to - part.from, 0),
  );
  const parts = partsOf(busy, { from, to }).map((part) => {
    const ms = part.to - part.from;
    const isCut = part.isIdle && ms > busyMs * CUT_FROM && ms > 1_000;
    return { ...part, ms, isCut, width: isCut ? Math.max(busyMs * CUT_WIDTH, 1) : ms };
  });
  const whole = parts.reduce((sum, { width }) => sum + width, 0);
  const begins: number[] = [];
  parts.reduce((begin, { width }) => {
    begins.push(begin);
    return begin + width;
  }, 0);
  return {
    position(at) {
      const index = Math.max(
        0,
        parts.findLastIndex((part) => part.from <= at),
      );
      const part = parts[index];
      if (!part) return 0;
      const share = part.ms === 0 ? 0 : Math.min(1, Math.max(0, (at - part.from) / part.ms));
      return ((begins[index] ?? 0) + share * part.width) / whole;
    },
    cuts: parts.flatMap(({ isCut, ms, width }, index) =>
      isCut ? [{ position: ((begins[index] ?? 0) + width / 2) / whole, ms }] : [],
    ),
  };
}

interface Part {
  from: number;
  to: number;
}

function unionOf(spans: readonly Part[]): Part[] {
  const union: Part[] = [];
  for (const { from, to } of [...spans].sort((one, other) => one.from - other.from)) {
    const last = union.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else union.push({ from, to });
  }
  return union;
}

/** The busy parts with the idle ones between and around them. */
function partsOf(busy: readonly Part[], { from, to }: Part): (Part & { isIdle: boolean })[] {
  const parts: (Part & { isIdle: boolean })[] = [];
  let at = from;
  for (const part of busy) {
    if (part.from > at) parts.push({ from: at, to: part.from, isIdle: true });
    parts.push({ ...part, isIdle: false });
    at = part.to;
  }
  if (to > at) parts.push({ from: at, to, isIdle: true });
  return parts;
}
