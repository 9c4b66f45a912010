import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { onEntities } from '#shared/db/query.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { BundleImport } from '#shared/entities/tables/bundle-import.ts';
import { ImportJob } from '#shared/entities/tables/import-job.ts';
import { requireNoBoundary } from '../../auth/permission-boundary.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findPage, pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import type { ImportInput } from '../import/run-handler.ts';
import { Imported, RolledBack } from '../schemas.ts';
import { ImportJobBody, ImportJobEnded, ImportJobError, ImportJobRecord } from './schemas.ts';

/** Jobs of a tenant that have not ended: each keeps a bundle in the database. */
const MAX_OPEN = 5;
const MAX_STORED = 20;

export const createImportJob = tenantRoute({
  name: 'createImportJob',
  method: 'post',
  path: '/import/jobs',
  summary: 'Import a bundle in the background',
  description:
    'Answers at once, with a job that says how far the import is. It does what `executeImport` does, or with the `token` of a plan `applyImport`, with the permissions that the caller has by then. Goes on after a restart; nothing is imported twice or in part.',
  status: 202,
  permission: 'bundle.execute',
  takesData: true,
  body: ImportJobBody,
  hides: ['secrets', 'value'],
  response: z.object({ job: ImportJobRecord, message: Message }),
  errors: ['429'],
  idempotent: 'transaction',

  async handle(input, { secrets }) {
    const { body } = input;
    const total = body.bundle.items.length;
    const job = await addJob(input, secrets, { body, total, isPlanned: body.token !== undefined });
    return { job, message: 'The import waits for its turn' };
  },
});

export const createRollbackJob = tenantRoute({
  name: 'createRollbackJob',
  method: 'post',
  path: '/import/:importID/rollback/jobs',
  summary: 'Roll back an import in the background',
  description:
    'Answers at once, with a job like that of an import. It does what `rollBackImport` does, with the permissions that the caller has by then.',
  status: 202,
  permission: 'bundle.execute',
  onWholeType: true,
  params: z.object({ importID: idOf('import') }),
  response: z.object({ job: ImportJobRecord, message: Message }),
  errors: ['409', '429'],
  idempotent: 'transaction',

  async handle(input, { secrets }) {
    const { importID } = input.params;
    const done = await input.em.findOne(BundleImport, { id: importID }, { exclude: ['changes'] });
    if (!done) throw new AppError('NOT_FOUND', 'Import not found');
    if (done.rolledBackAt) throw new AppError('CONFLICT', 'This import is rolled back already');
    const total = done.createdCount + done.updatedCount;
    const job = await addJob(input, secrets, { body: {}, total, importID });
    return { job, message: 'The rollback waits for its turn' };
  },
});

interface NewJob {
  body: object;
  total: number;
  isPlanned?: boolean;
  importID?: string;
}

async function addJob(
  { em, tenantID, caller }: Pick<ImportInput, 'em' | 'tenantID' | 'caller'>,
  secrets: ApiContext['secrets'],
  { body, total, isPlanned = false, importID }: NewJob,
): Promise<z.input<typeof ImportJobRecord>> {
  requireNoBoundary(caller, 'an import job');
  await requireHeadroom(em, tenantID);
  const id = newID();
  const request = secrets.seal(JSON.stringify(body), sealedColumns.importRequest.context(id));
  const apiKeyID = caller.type === 'apiKey' ? caller.id : null;
  const who = [caller.userID ?? caller.id, apiKeyID];
  await onEntities(em)(INSERT, [id, tenantID, ...who, request, total, isPlanned, importID ?? null]);
  await onEntities(em)(FORGET, [tenantID, MAX_STORED]);
  return presentJob(await getJob(em, id));
}

export const listImportJobs = tenantRoute({
  name: 'listImportJobs',
  method: 'get',
  path: '/import/jobs',
  summary: 'List import jobs',
  description: 'Returns the imports in the background that wait or are under way, and the last 20, newest first.',
  permission: 'bundle.preview',
  query: z.object(pageQuery(standardPage)),
  response: z.object({ jobs: z.array(ImportJobRecord), ...pageFields }).meta({ id: 'ImportJobPage' }),

  async handle({ query, em }) {
    const { rows, fields } = await findPage(em, ImportJob, { where: {}, query, exclude: ['request', 'answer'] });
    return { jobs: rows.map(presentJob), ...fields };
  },
});

export const getImportJob = tenantRoute({
  name: 'getImportJob',
  method: 'get',
  path: '/import/jobs/:jobID',
  summary: 'Get an import job',
  description: 'Returns how far an import is, and in the end what it has done, or why it has failed.',
  permission: 'bundle.preview',
  onWholeType: true,
  params: z.object({ jobID: idOf('importJob') }),
  response: z.object({ job: ImportJobEnded }),

  async handle({ params, em }) {
    const job = await getJob(em, params.jobID);
    const answer = stateOf(job) === 'COMPLETED' ? job.answer : null;
    const result = answer && !job.importID ? Imported.parse(answer) : null;
    const rollback = answer && job.importID ? RolledBack.parse(answer) : null;
    return { job: { ...presentJob(job), error: errorOf(job), result, rollback } };
  },
});

async function getJob(em: EntityManager, id: string) {
  const job = await em.findOne(ImportJob, { id }, { exclude: ['request'] });
  if (!job) throw new AppError('NOT_FOUND', 'Import job not found');
  return job;
}

async function requireHeadroom(em: EntityManager, tenantID: string): Promise<void> {
  const query = onEntities(em);
  // Without the lock, two requests at once could both add the last job that is allowed.
  await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`import.jobs.${tenantID}`]);
  const open = await em.count(ImportJob, { endedAt: null });
  if (open >= MAX_OPEN)
    throw new AppError(
      'RATE_LIMITED',
      `${open} imports of this tenant wait or are under way: wait until one has ended`,
    );
}

type Shown = Pick<
  ImportJob,
  | 'id'
  | 'importID'
  | 'done'
  | 'total'
  | 'creatorID'
  | 'createdByApiKeyID'
  | 'createdAt'
  | 'startedAt'
  | 'endedAt'
  | 'status'
>;

function hasFailed({ status }: Pick<ImportJob, 'status'>): boolean {
  return (status ?? 0) >= 300;
}

function stateOf(job: Shown): 'QUEUED' | 'RUNNING' | 'COMPLETED' | 'FAILED' {
  if (job.endedAt) return hasFailed(job) ? 'FAILED' : 'COMPLETED';
  return job.startedAt ? 'RUNNING' : 'QUEUED';
}

function errorOf({ status, answer }: Pick<ImportJob, 'status' | 'answer'>): z.input<typeof ImportJobError> | null {
  const { data } = ImportJobError.safeParse(hasFailed({ status }) ? answer?.error : undefined);
  return data ?? null;
}

function presentJob(job: Shown): z.input<typeof ImportJobRecord> {
  const { id, done, creatorID } = job;
  return {
    ...{
      id,
      jobID: id,
      kind: job.importID ? ('rollback' as const) : ('import' as const),
      importID: job.importID ?? null,
    },
    ...{ status: stateOf(job), done, total: job.total ?? null, creatorID },
    createdByApiKeyID: job.createdByApiKeyID ?? null,
    createdAt: job.createdAt.toISOString(),
    startedAt: job.startedAt?.toISOString() ?? null,
    endedAt: job.endedAt?.toISOString() ?? null,
  };
}

const INSERT = `
insert into import_job (id, tenant_id, creator_id, created_by_api_key_id, request, total, is_planned, import_id)
values ($1, $2, $3, $4, $5, $6, $7, $8)`;

const FORGET = `
delete from import_job where tenant_id = $1 and ended_at is not null and id not in (
  select id from import_job where tenant_id = $1 order by created_at desc, id desc limit $2)`;
