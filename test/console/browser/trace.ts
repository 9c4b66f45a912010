import type { Page } from 'playwright-core';

interface Event {
  pid: number;
  tid: number;
  name: string;
  /** Microseconds of the thread's processor time. */
  tdur?: number;
  args?: { name?: string };
}

export interface Work {
  /** Milliseconds of the longest task. */
  longest: number;
  /** Milliseconds of all tasks together. */
  sum: number;
}

/** Processor time of the page's main thread meanwhile: other work on the machine does not add to it. */
export async function workOf(page: Page, act: () => Promise<unknown>): Promise<Work> {
  const browser = page.context().browser();
  if (!browser) throw new Error('the page has no browser');
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] });
  let trace: { traceEvents: Event[] };
  try {
    await act();
  } finally {
    trace = JSON.parse((await browser.stopTracing()).toString());
  }
  const { traceEvents } = trace;
  const mains = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain');
  const works = mains.map(({ pid, tid }) => {
    const tasks = traceEvents.filter((event) => event.pid === pid && event.tid === tid && event.name === 'RunTask');
    const times = tasks.map(({ tdur = 0 }) => tdur / 1_000);
    return { longest: Math.max(0, ...times), sum: times.reduce((sum, one) => sum + one, 0) };
  });
  // Each page has a thread of its own; the others stand still.
  const busiest = works.toSorted((one, other) => other.sum - one.sum)[0];
  if (!busiest || busiest.sum === 0) throw new Error('the trace has no task of a page');
  return busiest;
}
