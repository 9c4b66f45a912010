/** The floor of P6: an Express route that records a body by a grouped insert, and nothing else. */
import express from 'express';
import { createBatcher } from '#shared/concurrency/batcher.ts';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { readConfig } from '#shared/process/config.ts';

const config = readConfig();
const pool = createPool(config.db, createLogger(config.log), { name: 'gantry.bare' });
await pool.query(
  'create table if not exists bare_delivery (id uuid primary key, headers jsonb, body text, received_at timestamptz default now())',
);
const record = createBatcher(async (rows: { id: string; headers: object; body: string }[]) => {
  await pool.query({
    name: 'record',
    text: 'insert into bare_delivery (id, headers, body) select id, headers, body from json_to_recordset($1::json) as r(id uuid, headers jsonb, body text)',
    values: [JSON.stringify(rows)],
  });
  return rows;
});
const app = express();
app.disable('etag');
app.get('/ready', (_request, response) => void response.json({}));
app.post('/deliveries', express.raw({ type: () => true }), async (request, response) => {
  const id = newID();
  await record({ id, headers: request.headers, body: String(request.body) });
  response.json({ success: true, eventID: id });
});
app.listen(config.http.port, config.http.host);
process.once('SIGTERM', () => process.exit(0));
