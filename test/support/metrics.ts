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
