import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodes } from '#shared/workflow/nodes/index.ts';

const root = join(import.meta.dirname, '../../../..');

/** The contracts, the two tables and the words of the console, which alone may name kinds; benches and the sample, whose graphs are data. */
const allowed =
  /^shared\/workflow\/nodes\/|^workers\/nodes\/index\.ts$|^ops\/(?:bench\/|sample\.ts$|console\/graph\/(?:kinds|summary)\.ts$)/;

/** Words with another meaning, and graphs that are data. */
const otherMeanings: readonly [path: string, words: readonly string[], meaning: string][] = [
  ['api/resources/cron-jobs/backfills/rows.ts', ['end'], 'a method'],
  ['api/http/forms/form-layout.ts', ['javascript'], 'a language'],
  ['api/http/openapi/parts.ts', ['http'], 'a type of security scheme in OpenAPI'],
  ['api/audit/changes.ts', ['dataQuery'], 'a type of asset'],
  ['api/http/audit/operator-entries.ts', ['end'], 'a method'],
  ['api/http/audit/outcome.ts', ['end'], 'a method'],
  ['api/bundles/import/run-handler.ts', ['log'], 'a logger'],
  ['api/bundles/examples.ts', ['dataQuery'], 'a type of asset'],
  ['api/bundles/export/export.ts', ['dataQuery'], 'a type of asset'],
  ['api/bundles/rollback/still-used.ts', ['dataQuery'], 'a type of asset'],
  ['api/tools/agent/drafts.ts', ['start'], 'a sentence for models'],
  ['api/tools/agent/find.ts', ['dataQuery'], 'a type of asset'],
  ['api/tools/agent/runs.ts', ['start'], 'where a re-run begins'],
  ['api/tools/composed.ts', ['dataQuery'], 'the beginning of a name'],
  ['api/tools/hints.ts', ['start', 'end'], 'words of an example'],
  ['api/tools/in-process.ts', ['end'], 'a method'],
  ['api/tools/names.ts', ['dataQuery'], 'a field of a body'],
  ['api/realtime/sockets/audit-sockets.ts', ['join'], 'an action on a socket'],
  ['api/realtime/sockets/enter.ts', ['join'], 'an action on a socket'],
  ['api/bundles/assets/mentions.ts', ['dataQuery'], 'a type of asset'],
  ['api/bundles/assets/tables.ts', ['dataQuery', 'join', 'set'], 'a type of asset, and words of SQL'],
  ['api/bundles/assets/references.ts', ['dataQuery'], 'a type of asset'],
  ['api/bundles/assets/bundle-types.ts', ['dataQuery'], 'a type of asset'],
  ['shared/core/schema/reference.ts', ['dataQuery', 'map'], 'types of ids'],
  ['api/resources/overview/schemas.ts', ['dataQuery'], 'a type of asset'],
  ['ops/console/client/search.ts', ['dataQuery'], 'a type of asset'],
  ['api/resources/queries/clone.ts', ['dataQuery'], 'a type of folder'],
  ['api/resources/queries/run.ts', ['dataQuery'], 'a field of a body'],
  ['api/resources/queries/update.ts', ['dataQuery'], 'a type of folder'],
  ['api/resources/widgets/library/examples.ts', ['dataQuery'], 'a type of asset'],
  ['api/resources/workflows/examples.ts', ['start', 'dataQuery', 'delay', 'dataCollection', 'end'], 'graphs'],
  ['api/resources/workflow-instances/examples.ts', ['start', 'map', 'end'], 'graphs'],
  ['api/http/serve/http-services.ts', ['http'], 'a part of the configuration'],
  ['api/resources/workflows/plan/schemas.ts', ['start', 'dataQuery', 'dataCollection'], 'graphs of an example'],
  ['api/resources/workflow-instances/rerun/schemas.ts', ['start'], 'a choice'],
  ['api/runs/wait-schemas.ts', ['delay'], 'a reason why a run waits'],
  ['api/runs/wait-reason.ts', ['delay'], 'a reason why a run waits'],
  ['api/runs/reason-of-waits.ts', ['delay'], 'a reason why a run waits'],
  ['api/fleet/waiting-runs.ts', ['delay'], 'a reason why a run waits'],
  ['api/resources/workflow-instances/waiting.ts', ['delay'], 'a reason why a run waits'],
  ['ops/cli/runs.ts', ['start'], 'a choice'],
  ['ops/client/events.ts', ['dataQuery', 'delay'], 'types of fields'],
  ['ops/client/rest.ts', ['dataQuery', 'delay', 'start'], 'types of fields'],
  ['ops/console/client/settings.ts', ['ai'], 'a part of a key of the cache'],
  ['ops/console/client/stop-run.ts', ['start'], 'a choice'],
  ['ops/console/client/workflows.ts', ['start', 'end'], 'the graph of a new workflow'],
  ['ops/console/code/javascript.ts', ['log'], 'a method'],
  ['ops/console/code/language.ts', ['javascript'], 'a language'],
  ['ops/console/code/languages.ts', ['javascript'], 'a language'],
  ['ops/console/assistant/parts.ts', ['start'], 'a type of chunk'],
  ['ops/console/assistant/proposed.ts', ['start'], 'the step that a new graph begins with'],
  ['ops/console/people/single-types.ts', ['dataQuery'], 'a type of asset'],
  ['ops/console/client/queries-of-tenant.ts', ['dataQuery'], 'a field of a body'],
  ['ops/console/run/advice.ts', ['ai'], 'a part of the settings'],
  ['ops/console/values/native.ts', ['end'], 'where the caret goes'],
  ['ops/console/ui/question.ts', ['approval'], 'a type of collection'],
  ['ops/samples/install.ts', ['dataQuery'], 'a type of item'],
  ['ops/samples/prepare.ts', ['dataQuery'], 'a type of item'],
  ['ops/samples/read.ts', ['dataQuery', 'ai'], 'a type of item, and a need'],
  ['ops/console/client/templates.ts', ['dataQuery'], 'a type of item'],
  ['ops/console/templates/words.ts', ['dataQuery', 'ai'], 'a type of item, and a need'],
  ['shared/runs/batches/job.ts', ['start'], 'a choice'],
  ['shared/triggers/cron/job.ts', ['dataQuery'], 'a type of cron job'],
  ['shared/datasources/types/presets/slack.ts', ['join'], 'a call of an API'],
  ['shared/datasources/types/rabbitmq.ts', ['fanout'], 'a type of exchange'],
  ['shared/entities/tables/folder.ts', ['dataQuery'], 'a type of folder'],
  ['shared/entities/migrations/Migration20261122225500_CronJobs.ts', ['dataQuery'], 'a type of cron job'],
  ['shared/entities/migrations/Migration20261123061000_AssetChanges.ts', ['dataQuery'], 'a type of asset'],
  ['shared/entities/migrations/Migration20261123062000_Notifications.ts', ['approval'], 'a type of collection'],
  ['shared/entities/migrations/Migration20261129140000_NotByStarter.ts', ['approval'], 'a type of collection'],
  ['shared/core/schema/describe-issue.ts', ['map', 'set'], 'types of values'],
  ['shared/triggers/listeners/types/rabbitmq.ts', ['fanout'], 'a type of exchange'],
  ['shared/runs/plan-rerun.ts', ['start'], 'a choice'],
  ['shared/messaging/realtime/run-events.ts', ['log'], 'a field of an event'],
  ['shared/messaging/realtime/run-shapes.ts', ['delay'], 'a reason why a run waits'],
  ['shared/runs/batches/cancel.ts', ['end'], 'a field of a status'],
  ['shared/apps/widgets/types/inputs.ts', ['switch'], 'a type of widget'],
  ['workers/ai/ask-with-tools.ts', ['ai'], 'a package'],
  ['workers/ai/calls.ts', ['ai'], 'a package'],
  ['workers/ai/chat.ts', ['ai'], 'a package'],
  ['workers/ai/chunk-writer.ts', ['ai', 'start'], 'a package, and a type of chunk'],
  ['workers/ai/conversation.ts', ['ai'], 'a package'],
  ['workers/ai/exact-arguments.ts', ['ai'], 'the name of a package'],
  ['workers/ai/explain.ts', ['ai'], 'a package'],
  ['workers/ai/load-sdk.ts', ['ai'], 'a package'],
  ['workers/ai/open-model.ts', ['ai'], 'a package'],
  ['workers/ai/tools.ts', ['ai'], 'a package'],
  ['api/resources/ai-chat/decisions.ts', ['start'], 'a type of chunk'],
  ['api/resources/app-pages/list-questions.ts', ['approval'], 'a type of collection'],
  ['api/resources/app-pages/open-question.ts', ['approval'], 'a type of collection'],
  ['api/resources/app-pages/question-schemas.ts', ['approval'], 'a type of collection'],
  ['api/sign-in/throttle.ts', ['start'], 'the name of a limit'],
  ['ops/console/builder/made/form-of-workflow.ts', ['start'], 'the name of a data source'],
  ['ops/console/builder/made/inputs.ts', ['switch'], 'a type of widget'],
  ['ops/console/builder/made/page-of-query.ts', ['dataQuery'], 'a type of item'],
  ['ops/console/builder/made/plan.ts', ['dataQuery'], 'a type of item'],
  ['ops/console/builder/made/proposed-page.ts', ['dataQuery'], 'a type of item'],
  ['ops/console/builder/panels/data/changes.ts', ['switch'], 'a type of widget'],
  ['ops/console/builder/panels/data/source-types.ts', ['dataQuery'], 'a type of asset'],
  ['ops/console/builder/panels/preview/may-do.ts', ['dataQuery'], 'a type of asset'],
  ['ops/console/page/state/messages.ts', ['start'], 'a request over the socket'],
  ['ops/eval/model-agent.ts', ['ai', 'http'], 'a package, and a transport'],
  ['ops/eval/tasks/admin.ts', ['set'], 'a step of a task'],
  ['ops/eval/tasks/build.ts', ['approval', 'condition', 'end', 'javascript', 'set', 'start'], 'steps of tasks'],
  ['ops/eval/tasks/runs.ts', ['approval', 'dataQuery', 'delay', 'end', 'javascript'], 'steps of tasks'],
  ['ops/eval/workspace.ts', ['start'], 'the step that a new graph begins with'],
  ['workers/runs/batches/page.ts', ['end'], 'a method'],
  ['workers/datasources/connectors/mysql/values.ts', ['set'], 'a type of column'],
  ['workers/datasources/connectors/redis/operations.ts', ['set'], 'a type of value'],
  ['workers/triggers/cron/scheduler.ts', ['end'], 'a method'],
  ['workers/engine/maps/maps.ts', ['end'], 'a method'],
  ['workers/engine/state/result.ts', ['end'], 'a field of a step'],
  ['workers/engine/state/run-state.ts', ['end'], 'a field of a step'],
  ['workers/engine/state/run.ts', ['end', 'log'], 'fields of a step'],
  ['workers/engine/state/waits.ts', ['delay'], 'a reason why a run waits'],
  ['workers/outbound/own-addresses.ts', ['http'], 'a group of settings'],
  ['workers/sandbox/isolates.ts', ['start'], 'a function in the isolate'],
  ['workers/sandbox/pool.ts', ['start'], 'a choice'],
  ['workers/sandbox/tenant-hosts.ts', ['start'], 'a choice'],
  ['workers/tenant-database/schema/update-table.ts', ['set'], 'a part of a change'],
];

const kinds = nodes.map(({ kind }) => kind).join('|');
const mentions = [
  new RegExp(`(?<!\\b\\w*(?:on|once|off|emit|Listeners?|idOf)\\([^)]*)(['"\`])(${kinds})\\1`, 'g'),
  // A table by kind. Other names of kinds are also names of ordinary fields.
  /(?<=^|[\s{,(])()(dataCollection|javascript|subWorkflow)\??:/g,
  new RegExp(`(?<=^import \\{[^}]*)()\\b(${kinds})\\b(?=[^}]*\\} from '[^']*nodes/)`, 'g'),
];

function mentionsIn(source: string): string[] {
  const lines = source.split('\n').filter((line) => !/^\s*(?:\/[/*]|\*)/.test(line));
  return lines.flatMap((line) =>
    mentions.flatMap((mention) => [...line.matchAll(mention)].map(([, , kind]) => kind ?? '')),
  );
}

test('the ways to name a kind are found', () => {
  for (const line of [
    `if (node.definition.kind === 'end') return;`,
    `case "delay":`,
    `  where node->>'type' = 'dataQuery' and q.tenant_id = $1`,
    `  subWorkflow: ['inputMapping'],`,
    `import { condition } from '#shared/workflow/nodes/kinds/condition.ts';`,
    `type Last = D['kind'] extends 'end' ? null : never;`,
  ])
    expect(mentionsIn(line), line).toHaveLength(1);
  for (const line of [
    `stream.on('end', done);`,
    `await once(stream, 'end');`,
    `client.removeAllListeners('end');`,
    `dataQueryID: idOf('dataQuery').optional(),`,
    `/** As 'end' does. */`,
    `import { CollectionField } from '#shared/workflow/nodes/kinds/data-collection.ts';`,
    `const end = start + 1;`,
  ])
    expect(mentionsIn(line), line).toEqual([]);
});

test('a kind is named in its contract, the two tables and the words of the console, and nowhere else', () => {
  const paths = globSync('{api,ops,shared,workers}/**/*.{ts,mjs}', { cwd: root }).filter((path) => !allowed.test(path));
  const found = paths.flatMap((path) => {
    // An executor takes the type of its own kind.
    const own = /^workers\/nodes\//.test(path) ? /^import type .*\n/gm : /$^/;
    const words = mentionsIn(readFileSync(join(root, path), 'utf8').replace(own, ''));
    return words.length > 0 ? [[path, [...new Set(words)].sort()]] : [];
  });

  expect(paths.length).toBeGreaterThan(300);
  const hint = 'ask the definition of the kind for a property, or add the other meaning of the word to the list above';
  expect(Object.fromEntries(found), hint).toEqual(
    Object.fromEntries(otherMeanings.map(([path, words]) => [path, [...words].sort()])),
  );
});
