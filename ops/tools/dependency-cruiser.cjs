const layers = require('./layers.cjs');

/** Layers of the tree, checked on the import graph: which folder may import which. */
const only = (name, packages, allowed) => ({
  name,
  severity: 'error',
  from: { pathNot: `${allowed}|^test/|^node_modules/` },
  to: { path: packages.map((p) => `node_modules/${p}/`).join('|') },
});

/** Where each package may be imported: everything that production installs has a rule here, but for the schemas of zod. */
const packageRules = [
  only(
    'bullmq-only-at-the-queue',
    ['bullmq'],
    '^(shared/messaging/producer|workers/processors/(consume|schedules|dead-letters)|ops/board)\\.ts|^shared/messaging/backplane/',
  ),
  only(
    'express-only-at-the-door',
    ['express', '@bull-board/express'],
    '^api/(http|mcp|auth|sign-in|tools|app)/|^ops/(board|board/.*|bench/.*)\\.ts',
  ),
  only('casbin-only-in-policy', ['casbin'], '^shared/access/policy/|^ops/bench/'),
  only(
    'ioredis-only-in-the-backplane',
    ['ioredis', '@socket\\.io/(redis|postgres)-adapter'],
    '^shared/messaging/backplane/|^workers/(datasources/connectors|triggers/listeners/sources)/|^ops/bench/',
  ),
  only(
    'pg-only-in-the-pool',
    ['pg'],
    '^shared/(db|messaging/backplane)/|^workers/(tenant-database|connections/postgresql)/|^ops/',
  ),
  only('mysql2-only-in-its-connector', ['mysql2'], '^workers/datasources/connectors/'),
  only('files-of-strangers-only-in-their-readers', ['@duckdb', 'csv-parse', 'fflate'], '^workers/datasources/files/'),
  only(
    'workbooks-only-in-reader-and-export',
    ['hucre'],
    '^workers/datasources/files/|^api/http/response/export-formats',
  ),
  only(
    'messaging-only-in-its-connectors',
    ['imapflow', '@nats-io', 'amqplib', 'mqtt-packet'],
    '^workers/(datasources/connectors|triggers/listeners/sources)/',
  ),
  only(
    'mail-only-in-its-connector-and-the-sign-in',
    ['nodemailer'],
    '^workers/datasources/connectors/|^api/sign-in/mail\\.ts',
  ),
  only('sign-in-only-in-its-room', ['oidc-provider', '@simplewebauthn', 'otpauth', 'uqr'], '^api/sign-in/'),
  only(
    'drivers-of-listeners-only-in-their-sources',
    ['pg-logical-replication', 'graphql-ws', 'postal-mime'],
    '^workers/triggers/listeners/sources/',
  ),
  only(
    'event-streams-only-where-they-are-read',
    ['eventsource-parser'],
    '^workers/triggers/listeners/sources/|^api/mcp/|^ops/client/|^ops/console/client/assistant\\.ts',
  ),
  only('mcp-only-in-its-service', ['@modelcontextprotocol'], '^api/(mcp/|tools/present\\.ts)|^ops/eval/'),
  only('requests-without-a-network-only-of-tools', ['light-my-request'], '^api/tools/'),
  only(
    'drivers-only-in-connectors',
    ['graphql', 'ws', '@rgrove'],
    '^workers/(datasources/connectors|triggers/listeners/sources)/',
  ),
  only(
    'signatures-of-s3-only-where-it-is',
    ['aws4fetch'],
    '^workers/datasources/connectors/s3/|^shared/datasources/files/s3-store\\.ts',
  ),
  only(
    'oauth-only-where-tokens-come-from',
    ['oauth4webapi'],
    '^workers/datasources/oauth/|^ops/console/client/sign-in\\.ts',
  ),
  only('undici-only-behind-the-gate', ['undici'], '^workers/outbound/fetch\\.ts'),
  only('models-only-in-ai', ['ai', '@ai-sdk'], '^workers/ai/|^ops/eval/'),
  only('words-found-only-by-tools', ['minisearch'], '^api/tools/'),
  only('copies-only-in-backups', ['pg-copy-streams'], '^ops/backup/'),
  only('busboy-only-at-the-door', ['busboy'], '^api/http/'),
  only('bull-board-only-on-the-board', ['@bull-board'], '^ops/board\\.ts'),
  only('isolates-only-in-the-sandbox', ['isolated-vm'], '^workers/sandbox/'),
  only('code-parsed-only-for-its-keys', ['acorn'], '^workers/nodes/context-keys\\.ts'),
  only('entity-manager-never-in-workers', ['@mikro-orm'], '^(api|shared|ops)/'),
  only('sockets-only-in-realtime', ['socket\\.io'], '^api/realtime/|^shared/messaging/(realtime|backplane)/'),
  only(
    'sockets-of-clients-only-in-sample-bench-and-console',
    ['socket\\.io-client'],
    '^ops/bench/p11-clients\\.ts|^ops/samples/first-run\\.ts|^ops/console/(client/(?:socket|connection)|fleet/live)\\.ts',
  ),
  only('files-of-the-console-only-in-the-api', ['sirv'], '^api/http/console/console\\.ts'),
  only('headers-only-in-servers', ['helmet', 'cors', 'proxy-addr'], '^api/(http/|mcp/|app/)|^ops/board\\.ts'),
  only('tokens-only-in-auth', ['jose'], '^api/(auth|sign-in)/'),
  only('rate-limits-only-in-the-backplane', ['rate-limiter-flexible'], '^shared/messaging/backplane/'),
  only('pino-only-in-the-logger', ['pino'], '^shared/core/logger\\.ts'),
  only('prom-client-only-in-metrics', ['prom-client'], '^shared/core/metrics\\.ts'),
  only('command-lines-only-in-the-command-line', ['commander'], '^ops/cli/'),
  only('requests-by-type-only-in-the-client', ['openapi-fetch'], '^ops/(client|console)/'),
  only(
    'expressions-only-in-cron',
    ['cron-parser', 'cronstrue'],
    '^shared/(core/cron-calendar|triggers/cron/describe)\\.ts',
  ),
];
const placed = [...packageRules.map(({ to }) => to.path), 'node_modules/(zod|lru-cache)/'].join('|');

const layerRules = Object.entries(layers).flatMap(([tier, folders]) => [
  ...folders.slice(0, -1).map((folder, index) => ({
    name: `${tier}-${folder}-imports-only-folders-below-it`,
    severity: 'error',
    from: { path: `^${tier}/${folder}/` },
    to: { path: `^${tier}/(${folders.slice(index + 1).join('|')})/` },
  })),
  {
    name: `no-file-at-the-root-of-${tier}`,
    severity: 'error',
    from: {},
    to: { path: `^${tier}/`, pathNot: `^${tier}/(${folders.join('|')})/` },
  },
]);

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'shared-is-the-bottom',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(api|workers|ops|test)/' },
    },
    { name: 'api-never-runs-work', severity: 'error', from: { path: '^api/' }, to: { path: '^(workers|ops|test)/' } },
    { name: 'workers-never-serve', severity: 'error', from: { path: '^workers/' }, to: { path: '^(api|ops|test)/' } },
    {
      name: 'resources-are-strangers',
      severity: 'error',
      from: { path: '^api/resources/([^/]+)/' },
      to: { path: '^api/resources/([^/]+)/', pathNot: '^api/resources/$1/' },
    },
    {
      name: 'http-knows-no-resource',
      severity: 'error',
      from: { path: '^api/(http|auth)/' },
      to: { path: '^api/resources/' },
    },
    {
      name: 'node-kinds-are-strangers',
      severity: 'error',
      from: { path: '^workers/nodes/' },
      to: { path: '^workers/(processors|engine|dispatch)/' },
    },
    {
      name: 'contracts-are-pure',
      severity: 'error',
      from: { path: '^shared/(messaging/queues|datasources/(types|queries|fields)|workflow)/' },
      to: { path: 'node_modules', pathNot: 'node_modules/(zod|lru-cache)/' },
    },
    ...packageRules,
    {
      name: 'every-package-has-a-place',
      severity: 'error',
      from: { path: '^(api|workers|shared|ops)/', pathNot: '^ops/(tools|console)/' },
      to: { path: 'node_modules/', pathNot: placed },
    },
    ...['api', 'workers', 'shared', 'ops/console'].map((tier) => ({
      name: `no-cycles-between-folders-of-${tier}`,
      severity: 'error',
      scope: 'folder',
      from: { path: `^${tier}` },
      to: { circular: true },
    })),
    {
      // `npm start` and the image install without them.
      name: 'running-needs-no-development-package',
      severity: 'error',
      from: { path: '^(api|workers|shared|ops)/', pathNot: '^ops/(tools|console|eval)/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'the-client-stands-alone',
      severity: 'error',
      from: { path: '^ops/client/' },
      to: { pathNot: '^ops/client/|^node_modules/(openapi-fetch|eventsource-parser)/' },
    },
    {
      name: 'console-uses-the-published-interface',
      severity: 'error',
      from: { path: '^ops/console/' },
      to: {
        path: '^(api|workers|shared|ops|test)/',
        pathNot:
          '^ops/console/|^ops/client/rest\\.ts$|^ops/samples/(prepare|read)\\.ts$|^shared/messaging/realtime/events\\.ts$|^shared/core/(csv|exact-number|lossless-json)\\.ts$|^shared/workflow/(graph/(nodes-before|regions)|nodes/(exits|results)|templates/expressions)\\.ts$',
      },
    },
    {
      // It is drawn in other places than the console, too.
      name: 'app-pages-need-no-console',
      severity: 'error',
      from: { path: '^ops/console/page/' },
      to: {
        path: '^ops/console/',
        pathNot: '^ops/console/(page|ui|code|chart)/|^ops/console/client/(types|when-served)\\.ts',
      },
    },
    {
      name: 'pages-are-built-not-imported',
      severity: 'error',
      from: { pathNot: '^ops/console/|^test/console/' },
      to: { path: '^ops/console/' },
    },
    {
      // They are in the package of the client.
      name: 'commands-need-only-the-client',
      severity: 'error',
      from: { path: '^ops/cli/', pathNot: '^ops/cli/(main|deployment|doctor)\\.ts' },
      to: {
        pathNot: '^ops/(cli|client)/|node_modules/commander/|^[^/.]+(/promises)?$|^(stream|readline|timers|fs|path|os)',
      },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
