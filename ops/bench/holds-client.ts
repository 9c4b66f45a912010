/** The client of row HOLDS, a process of its own: in the process that is measured, sending and reading would count as holds. */
import { readFile } from 'node:fs/promises';

export interface Call {
  url: string;
  method: string;
  headers: Record<string, string>;
  /** The file with the body. */
  file: string;
  /** A pattern of which the first group is found in the answer. */
  find?: string;
}

export interface Answer {
  status: number;
  beginning: string;
  found: string | undefined;
}

process.on('message', async ({ url, method, headers, file, find }: Call) => {
  const response = await fetch(url, { method, headers, body: await readFile(file) });
  const text = await response.text();
  const found = find === undefined ? undefined : new RegExp(find).exec(text)?.[1];
  process.send?.({ status: response.status, beginning: text.slice(0, 300), found } satisfies Answer);
});
