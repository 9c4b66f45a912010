import { findInexact } from '#api/http/inexact.ts';
import { costOf, longestHold } from './event-loop.ts';

/** A process of its own for inexact.test.ts: prints how long a text of 5 MB takes to parse and write, and holds the loop when scanned. */
const digits = '1234567890123456'.slice(0, Number(process.argv[2]));
const text = `[${`${digits},`.repeat(290_000)}1]`;
const json = costOf(() => JSON.stringify(JSON.parse(text)));
const bytes = Buffer.from(text);
const hold = await longestHold(0, () => findInexact(bytes));
process.stdout.write(JSON.stringify({ json, hold }));
