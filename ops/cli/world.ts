import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { World } from './session.ts';

/** The process: its environment, what it prints, and what is typed into it. */
export function processWorld(): World {
  // A reader such as `head` that has enough is no failure.
  process.stdout.on('error', (error: { code?: string }) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    env: process.env,
    line: (line) => process.stdout.write(`${line}\n`),
    note: (line) => process.stderr.write(`${line}\n`),
    readSecret,
  };
}

async function readSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return (await text(process.stdin)).trim();
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const typed = createInterface({ input: process.stdin, output: unseen, terminal: true });
  // The terminal shows nothing from here on, also not what is typed before the question is read.
  process.stderr.write(question);
  try {
    return (await typed.question('')).trim();
  } finally {
    typed.close();
    process.stderr.write('\n');
  }
}
