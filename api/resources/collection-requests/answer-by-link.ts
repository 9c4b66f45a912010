import { raw } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { FORMS_PATH } from '#shared/runs/form-links.ts';
import type { ApiContext } from '../../context/context.ts';
import { publicRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import type { FormUse } from '../../http/limits/form-limits.ts';
import { wantsHTML } from '../../http/response/error-page.ts';
import type { RecordPublic } from '../../http/route/audit-entry.ts';
import type { Request } from '../../http/route/route.ts';
import { requireOpen, takeAnswer } from '../../questions/accept-submission.ts';
import { ShownForm } from '../../questions/shown-form.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { linkExpiryOf } from './answer-link.ts';
import { readSentFields, SentFields } from './form-controls.ts';
import { sendForm, sendThanks } from './form-page.ts';
import { Form, FormToken, Submission } from './schemas.ts';

const path = `${FORMS_PATH}/:token`;
/** The last part of the path to which a browser without the script sends a form. */
const PAGE = 'page';

export const readForm = publicRoute({
  name: 'getForm',
  method: 'get',
  path,
  summary: 'Get a form by its link',
  description:
    'Returns what the holder of a link needs in order to answer. A browser gets a page that shows the form and sends the answer, or that says why it cannot be answered. Reading does not use the link up, and is counted apart from answers. A link that was not issued here is 404 `NOT_FOUND`; one whose request is answered, expired or cancelled is 409 `CONFLICT`.',
  params: FormToken,
  response: z.object({ form: Form }),
  isSecret: true,
  hasSecretPath: true,
  errors: ['404', '409', '429'],
  checkPublic: ({ request }, { runs: { formLimits } }) => formLimits.countNetwork('read', request.ip),

  async handle({ params: { token }, request, response }, context) {
    response.vary('accept');
    const { request: asked } = await openForm({ token, use: 'read' }, context);
    const form = ShownForm.parse(asked.collectionConfig);
    const action = request.path.endsWith('/') ? PAGE : `${token}/${PAGE}`;
    if (wantsHTML(request.headers)) sendForm(response, form, { action });
    return { form: { ...form, expiresAt: linkExpiryOf(asked)?.toISOString() ?? null } };
  },
});

/** Both ways to answer have this in common; one takes JSON, the other the fields of the page. */
const answering = {
  method: 'post',
  params: FormToken,
  // No idempotency key is needed: the first submission to a request counts.
  idempotent: false,
  isSecret: true,
  hasSecretPath: true,
  errors: ['404', '409', '429'],

  async checkPublic(
    { params, request }: { params: z.output<typeof FormToken>; request: Request },
    { runs: { formLimits, formLinks } }: ApiContext,
  ) {
    await formLimits.countNetwork('answer', request.ip);
    if (!formLinks.read(params.token)) throw unknownLink();
  },
} as const;

export const submitForm = publicRoute({
  name: 'submitForm',
  ...answering,
  path,
  summary: 'Answer a form by its link',
  description:
    'Sends the data a run waits for, without signing in. The first answer counts, whether it comes by link or not: a later one is 409 `CONFLICT`.',
  takesData: true,
  body: Submission,
  response: z.object({ message: Message }),

  async handle({ params, body, recorded }, context) {
    const opened = await openForm({ token: params.token, use: 'answer' }, context);
    await accept(opened, { recorded, context, read: () => body.submittedData });
    return { message: ANSWERED };
  },
});

export const submitFormPage = publicRoute({
  name: 'submitFormPage',
  ...answering,
  path: `${path}/${PAGE}`,
  summary: 'Answer a form from its page',
  description:
    'What the page of a form sends in a browser that runs no script: its fields as `application/x-www-form-urlencoded`, each a text. The answer is a page; if a value is wrong, it is 400 and the form again, filled in.',
  takesData: true,
  body: SentFields,
  produces: 'text/html',
  response: z.object({}),

  async handle({ params, body: sent, response, recorded }, context) {
    const opened = await openForm({ token: params.token, use: 'answer' }, context);
    const form = ShownForm.parse(opened.request.collectionConfig);
    try {
      await accept(opened, { recorded, context, read: () => readSentFields(form, sent) });
      sendThanks(response, ANSWERED);
    } catch (error) {
      const { status, message } = toAppError(error);
      if (status !== 400) throw error;
      sendForm(response.status(status), form, { action: PAGE, sent, fault: message.replaceAll('submittedData.', '') });
    }
    return {};
  },
});

const ANSWERED = 'Answer received';

interface Answered {
  recorded: RecordPublic;
  context: ApiContext;
  read(): JsonObject;
}

async function accept({ em, request: asked }: Opened, { recorded, context, read }: Answered): Promise<void> {
  const { tenantID, id: assetID } = asked;
  const target = { tenantID, caller: null, asset: { assetType: 'collectionRequest', assetID } };
  await recorded(target, async () =>
    takeAnswer({ em, runs: context.runs }, asked, {
      submittedData: read(),
      submittedBy: null,
      // The database's clock decides, as for the end of the request itself.
      onlyIf: { createdAt: { $gt: raw<Date>(LINK_BEGAN) } },
    }),
  );
}

const LINK_BEGAN = `now() - make_interval(secs => 60 * (collection_config ->> 'linkExpiryMinutes')::float8)`;

interface Opened {
  em: EntityManager;
  request: CollectionRequest;
}

/** The open request of a link. Links that were altered, and links to what does not exist, get the same answer. */
async function openForm(
  { token, use }: { token: string; use: FormUse },
  { orm, runs: { formLinks, formLimits } }: ApiContext,
): Promise<Opened> {
  const link = formLinks.read(token);
  if (!link) throw unknownLink();
  const { tenantID, instanceID, nodeID, path } = link;
  const em = tenantEntityManager(orm.em, tenantID);
  const run = await em.findOne(WorkflowInstance, { id: instanceID }, { fields: ['status'] });
  if (!run) throw unknownLink();
  const asked = await em.findOne(CollectionRequest, { instanceID, nodeID, path });
  if (!asked) throw new AppError('CONFLICT', 'This form is not open: the run has not come to it');
  await formLimits.countLink(use, asked.id);
  requireOpen({ request: asked, run });
  if ((linkExpiryOf(asked)?.getTime() ?? 0) <= Date.now()) throw new AppError('CONFLICT', 'This link has expired');
  return { em, request: asked };
}

function unknownLink(): AppError {
  return new AppError('NOT_FOUND', 'There is no form at this link');
}
