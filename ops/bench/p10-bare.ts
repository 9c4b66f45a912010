/** The floor of P10: Express and `pg`, the same rows of the same database as JSON, and nothing else. */
import express from 'express';
import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { readConfig } from '#shared/process/config.ts';

const config = readConfig();
const pool = createPool(config.db, createLogger(config.log), { name: 'gantry.bare' });
const app = express();
app.disable('etag');
app.get('/ready', (_request, response) => void response.json({}));
app.get('/workflows/:id', async (request, response) => {
  const { rows } = await pool.query({
    name: 'workflow',
    text: `select w.*, v.nodes, v.edges from workflow w join workflow_version v on v.id = w.version_id where w.id = $1`,
    values: [request.params.id],
  });
  response.json({ success: true, workflow: rows[0] });
});
app.listen(config.http.port, config.http.host);
process.once('SIGTERM', () => process.exit(0));
