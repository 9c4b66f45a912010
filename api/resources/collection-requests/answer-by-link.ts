import { raw } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { FORMS_PATH } from '#shared/runs/form-links.ts';
import type { ApiContext } from '../../context/context.ts';
import { publicRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { requireOpen, takeAnswer } from './accept-submission.ts';
import { linkExpiryOf } from './answer-link.ts';
import { sendForm, sendNoForm } from './form-page.ts';
import { Form, FormToken, ShownToHolder, Submission } from './schemas.ts';

const path = `${FORMS_PATH}/:token`;

export const readForm = publicRoute({
  name: 'getForm',
  method: 'get',
  path,
  summary: 'Get a form by its link',
  description:
    'Returns what the holder of a link needs in order to answer. A browser gets a page that shows the form and sends the answer. Reading does not use the link up. A link that was not issued here is 404 `NOT_FOUND`; one whose request is answered, expired or cancelled is 409 `CONFLICT`.',
  params: FormToken,
  response: z.object({ form: Form }),
  isSecret: true,
  hasSecretPath: true,
  errors: ['404', '409', '429'],
  checkPublic: ({ request }, { runs: { formLimits } }) => formLimits.countNetwork(request.ip),

  async handle({ params, request, response }, context) {
    response.vary('accept');
    const wantsPage = request.accepts(['json', 'html']) === 'html';
    try {
      const { request: asked } = await openForm(params.token, context);
      const form = ShownToHolder.parse(asked.collectionConfig);
      if (wantsPage) sendForm(response, form);
      return { form: { ...form, expiresAt: linkExpiryOf(asked)?.toISOString() ?? null } };
    } catch (error) {
      const { status, message } = toAppError(error);
      if (!wantsPage || (status !== 404 && status !== 409)) throw error;
      sendNoForm(response.status(status), message);
      return { form: { collectionType: 'form', expiresAt: null } };
    }
  },
});

export const submitForm = publicRoute({
  name: 'submitForm',
  method: 'post',
  path,
  summary: 'Answer a form by its link',
  description:
    'Sends the data a run waits for, without signing in. The first answer counts, whether it comes by link or not: a later one is 409 `CONFLICT`.',
  params: FormToken,
  body: Submission,
  // No idempotency key is needed: the first submission to a request counts.
  idempotent: false,
  response: z.object({ message: Message }),
  isSecret: true,
  hasSecretPath: true,
  errors: ['404', '409', '429'],

  async checkPublic({ params, request }, { runs: { formLimits, formLinks } }) {
    await formLimits.countNetwork(request.ip);
    if (!formLinks.read(params.token)) throw unknownLink();
  },

  async handle({ params, body, recorded }, context) {
    const { em, request: asked } = await openForm(params.token, context);
    const { tenantID, id: assetID } = asked;
    const target = { tenantID, caller: null, asset: { assetType: 'collectionRequest', assetID } };
    await recorded(target, () =>
      takeAnswer({ em, runs: context.runs }, asked, {
        ...body,
        submittedBy: null,
        // The database's clock decides, as for the end of the request itself.
        onlyIf: { createdAt: { $gt: raw<Date>(LINK_BEGAN) } },
      }),
    );
    return { message: 'Answer received' };
  },
});

const LINK_BEGAN = `now() - make_interval(secs => 60 * (collection_config ->> 'linkExpiryMinutes')::float8)`;

interface Opened {
  em: EntityManager;
  request: CollectionRequest;
}

/** The open request of a link. Links that were altered, and links to what does not exist, get the same answer. */
async function openForm(token: string, { orm, runs: { formLinks, formLimits } }: ApiContext): Promise<Opened> {
  const link = formLinks.read(token);
  if (!link) throw unknownLink();
  const { tenantID, instanceID, nodeID, path } = link;
  const em = tenantEntityManager(orm.em, tenantID);
  const run = await em.findOne(WorkflowInstance, { id: instanceID }, { fields: ['status'] });
  if (!run) throw unknownLink();
  const asked = await em.findOne(CollectionRequest, { instanceID, nodeID, path });
  if (!asked) throw new AppError('CONFLICT', 'This form is not open: the run has not come to it');
  await formLimits.countLink(asked.id);
  requireOpen({ request: asked, run });
  if ((linkExpiryOf(asked)?.getTime() ?? 0) <= Date.now()) throw new AppError('CONFLICT', 'This link has expired');
  return { em, request: asked };
}

function unknownLink(): AppError {
  return new AppError('NOT_FOUND', 'There is no form at this link');
}
