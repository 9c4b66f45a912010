/** `npm run bench [row …] [-- --backplane redis|postgres]`: one JSON line per row and backplane, each with its own floor. */
import { parseArgs } from 'node:util';
import { consolePages } from './console.ts';
import { costs } from './costs.ts';
import { type BackplaneKind, openEnvironment } from './environment.ts';
import { flood } from './flood.ts';
import { herd } from './herd.ts';
import { holds } from './holds.ts';
import { logs } from './logs.ts';
import { p1, p1b } from './p1-durable-steps.ts';
import { p2 } from './p2-step-latency.ts';
import { p3 } from './p3-code.ts';
import { p4 } from './p4-slots.ts';
import { p5 } from './p5-webhook-result.ts';
import { p6 } from './p6-webhooks.ts';
import { p7 } from './p7-dispatch.ts';
import { p8 } from './p8-fairness.ts';
import { p9 } from './p9-authorization.ts';
import { p10 } from './p10-api-overhead.ts';
import { p11 } from './p11-realtime.ts';
import { p12 } from './p12-start.ts';
import { p13 } from './p13-front-door.ts';
import { p14 } from './p14-bystanders.ts';
import { p15 } from './p15-sweep.ts';
import { p16 } from './p16-retention.ts';
import { p17 } from './p17-many-tenants.ts';
import { p18 } from './p18-map.ts';
import { pages } from './pages.ts';
import type { Row } from './row.ts';

/** A row of several parts measures each in an environment of its own. */
const rows: Record<string, Row | readonly Row[]> = {
  P1: p1,
  P1B: p1b,
  P2: p2,
  P3: p3,
  P4: p4,
  P5: p5,
  P6: p6,
  P7: p7,
  P8: p8,
  P9: p9,
  P10: p10,
  P11: p11,
  P12: p12,
  P13: p13,
  P14: p14,
  P15: p15,
  P16: p16,
  P17: p17,
  P18: p18,
  FLOOD: flood,
  LOGS: logs,
  HERD: herd,
  HOLDS: holds,
  COSTS: costs,
  CONSOLE: consolePages,
  PAGES: pages,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { backplane: { type: 'string' }, row: { type: 'string', multiple: true } },
});
const kinds = ['postgres', 'redis'] as const satisfies readonly BackplaneKind[];
const chosen = kinds.filter((kind) => kind === (values.backplane ?? kind));
if (chosen.length === 0) throw new Error(`--backplane takes ${kinds.join(' or ')}`);
const wanted = [...positionals, ...(values.row ?? [])].map((name) => name.toUpperCase());
const unknown = wanted.filter((name) => !(name in rows));
if (unknown.length > 0) throw new Error(`No row ${unknown.join(', ')}; there are ${Object.keys(rows).join(', ')}`);

for (const name of wanted.length > 0 ? wanted : Object.keys(rows)) {
  const row = rows[name] ?? [];
  for (const kind of chosen) {
    for (const part of typeof row === 'function' ? [row] : row) await measure(name, part, kind);
  }
}

/** A part that fails does not keep the others from being measured. */
async function measure(name: string, part: Row, kind: BackplaneKind): Promise<void> {
  try {
    await using environment = await openEnvironment(kind);
    for (const figure of await part(environment)) console.log(JSON.stringify({ row: name, ...figure }));
  } catch (error) {
    console.error(name, kind, error);
    process.exitCode = 1;
  }
}
