/**
 * bull-board: every queue, for people on call. Operators sign in. With `npm start` it is open instead, on loopback only and
 * only to a browser that asked for it by a loopback name, so that a page of another site can neither read it nor press its buttons.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import express, { type NextFunction, type Request, type Response } from 'express';
import helmet from 'helmet';
import { createOperators } from '#api/auth/operator-session.ts';
import { createFleetView } from '#api/fleet/fleet.ts';
import { ICON_PATH, sendIcon } from '#api/http/response/icon.ts';
import { type IdentifyOperator, serveFleetSockets } from '#api/realtime/feeds/fleet-room.ts';
import { createPausedQueues } from '#api/runs/paused-queues.ts';
import { createLogger, type Logger } from '#shared/core/logger.ts';
import { addProcessMetrics, createMetrics, inProcess } from '#shared/core/metrics.ts';
import { createPool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import { type Config, readConfig } from '#shared/process/config.ts';
import { serveMetrics } from '#shared/process/health-server.ts';
import { closeAndExit, stopSignal } from '#shared/process/shutdown.ts';
import { startOrExit } from '#shared/process/start-failure.ts';
import { fleetPages } from './board/fleet.ts';
import { answerBoardErrors, identifyByCookie, operatorsOnly } from './board/guard.ts';

export interface Board extends AsyncDisposable {
  readonly port: number;
  readonly metricsPort: number | null;
}

export async function startBoard({ config, logger }: { config: Config; logger: Logger }): Promise<Board> {
  await using resources = new AsyncDisposableStack();
  const pool = createPool(config.db, logger, { max: 2, name: 'gantry.board' });
  resources.defer(() => pool.end());
  await requireSchema(pool, logger);
  const backplane = resources.use(await createBackplane(config.backplane, logger));

  const { openOnLoopback } = config.board;
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', [...config.http.trustedProxies]);
  app.use(securityHeaders);
  app.get(ICON_PATH, sendIcon);
  app.get('/health', (_request, response) => {
    response.json({ success: true, status: 'ok', timestamp: new Date().toISOString() });
  });
  app.get('/ready', async (_request, response) => {
    const checks = await Promise.allSettled([pool.query('select 1'), backplane.ping()]);
    const ready = checks.every(({ status }) => status === 'fulfilled');
    response
      .status(ready ? 200 : 503)
      .json({ success: ready, postgres: checks[0].status, backplane: checks[1].status });
  });
  const serverAdapter = new ExpressAdapter();
  serverAdapter.setBasePath('/');
  createBullBoard({
    queues: queues.flatMap(({ name, deadLetters }) => {
      const description = 'Jobs carry ids only; the rows are in Postgres';
      const own = new BullMQAdapter(backplane.queue(name), { description });
      if (deadLetters === null) return [own];
      // Workers make its jobs from the rows, so that a change here would not last.
      const dead = { readOnlyMode: true, description: 'The newest dead letters, with reason and stack' };
      return [own, new BullMQAdapter(backplane.queue(deadLetters), dead)];
    }),
    serverAdapter,
    options: {
      uiConfig: {
        boardTitle: 'Gantry',
        favIcon: { default: ICON_PATH, alternative: ICON_PATH },
        miscLinks: [
          { text: 'Fleet', url: '/fleet' },
          ...(openOnLoopback ? [] : [{ text: 'Sign out', url: '/logout' }]),
        ],
      },
    },
  });
  const operators = createOperators({ pool, backplane, logger });
  const fleet = createFleetView(pool, createPausedQueues(backplane));
  const guard = openOnLoopback ? onlyLoopback : operatorsOnly(operators);
  app.use(guard, fleetPages(config, fleet), serverAdapter.getRouter());
  app.use(answerBoardErrors(logger));

  const server = createServer(app);
  server.listen(config.board.port, config.board.host);
  await once(server, 'listening');
  resources.defer(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  // Closed before the server, which waits for them.
  const identify: IdentifyOperator = openOnLoopback
    ? () => Promise.resolve()
    : ({ request }) => identifyByCookie(operators, { headers: request.headers, secure: isSecure(app, request) });
  const admits = openOnLoopback ? isLoopback : isOfOwnPage;
  resources.use(serveFleetSockets(server, { fleet, identify, admits, logger }));

  const metrics = createMetrics(logger);
  resources.use(addProcessMetrics(inProcess(metrics, 'board'), () => ({ main: pool, ...backplane.pools() })));
  const listener = config.metrics && resources.use(await serveMetrics(metrics, config.metrics, logger));

  const owned = resources.move();
  return {
    // A TCP server's address is never a string.
    port: (server.address() as AddressInfo).port,
    metricsPort: listener?.port ?? null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Pages load nothing from other hosts, bull-board's fonts from Google included, and cannot be put in a frame. */
const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      objectSrc: ["'none'"],
      baseUri: ["'self'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
  // With `no-referrer` a browser also leaves out the Origin by which a form is known to be the board's own.
  referrerPolicy: { policy: 'same-origin' },
});

function onlyLoopback(request: Request, response: Response, next: NextFunction): void {
  if (isLoopback(request)) return next();
  response.status(403).json({
    success: false,
    error: { code: 'PERMISSION_DENIED', message: 'The board answers only on the machine it runs on' },
  });
}

function isLoopback(request: IncomingMessage): boolean {
  const { host = '', origin } = request.headers;
  const local = /^(::1|127\.|::ffff:127\.)/.test(request.socket.remoteAddress ?? '');
  // A proxy on this machine forwards requests of other machines under any name, and says so in its headers.
  const isForwarded = 'x-forwarded-for' in request.headers || 'forwarded' in request.headers;
  return (
    local &&
    !isForwarded &&
    isLoopbackName(host) &&
    (origin === undefined || isLoopbackName(origin.replace(/^https?:\/\//, '')))
  );
}

/** Pages of other sites may open sockets too, with the cookies of this one. */
function isOfOwnPage({ headers: { origin = '', host } }: IncomingMessage): boolean {
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

/** As express tells it of a request: whether the browser has sent it over https. */
function isSecure(app: express.Express, { headers, socket }: IncomingMessage): boolean {
  const isTrusted = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  if (!isTrusted(socket.remoteAddress ?? '', 0)) return false;
  return [headers['x-forwarded-proto']].flat()[0]?.split(',')[0]?.trim() === 'https';
}

function isLoopbackName(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host);
}

if (import.meta.main) {
  const { config, logger } = await startOrExit('The board', async () => {
    const config = readConfig();
    return { config, logger: createLogger(config.log, { process: 'board' }) };
  });
  const stop = stopSignal(config.shutdownMs, logger);
  const board = await startOrExit('The board', () => startBoard({ config, logger }));
  logger.info({ port: board.port }, 'board is listening');
  await stop;
  await closeAndExit(board);
}
