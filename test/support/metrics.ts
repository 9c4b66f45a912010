import { readFileSync } from 'node:fs';

/** The metrics of a process, as a monitoring system gets them. */
export async function scrape(port: number | null | undefined, path = '/metrics') {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

/** The value of one series, labels in the order of the page; NaN if it is missing. */
export function readSeries(text: string, series: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1).split(' ')[0]);
}

/** The sum of the series that begin so. */
export function sumSeries(text: string, prefix: string): number {
  const lines = text.split('\n').filter((line) => line.startsWith(prefix));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Rows of the guide: a metric, its kind, the processes that have it, and its labels. */
export function documentedMetrics(): { name: string; kind: string; of: string; labels: string[]; row: string }[] {
  const page = readFileSync('ops/guides/metrics.md', 'utf8');
  return [...page.matchAll(/^\| `(gantry_\w+)` \| (\w+) \| ([^|]+) \|([^|]*)\|.*/gm)].map((match) => {
    const [row, name = '', kind = '', of = '', labels = ''] = match;
    return { name, kind, of, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label), row };
  });
}
