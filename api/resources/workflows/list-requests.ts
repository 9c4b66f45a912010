import { type FilterQuery, raw } from '@mikro-orm/postgresql';
import { textArray } from '#shared/db/array.ts';
import { CollectionRequest } from '#shared/db/entities/collection-request.ts';
import { onEntities } from '#shared/db/query.ts';
import { readApproverNames } from '#shared/policy/approvers.ts';
import { findPage } from '../../http/paging.ts';
import { tenantRoute } from '../../http/route.ts';
import { answerURLOf } from './answer-link.ts';
import { presentCollectionRequest } from './present.ts';
import { CollectionRequestList, CollectionRequests } from './request-schemas.ts';

export const listCollectionRequests = tenantRoute({
  name: 'listCollectionRequests',
  method: 'get',
  path: '/workflows/data-collection',
  summary: 'List data collection requests',
  description:
    'Returns the requests that the caller may answer, newest first: those of the workflows that the caller may execute, unless they name other approvers.',
  permission: 'workflow.execute',
  filter: true,
  query: CollectionRequestList,
  response: CollectionRequests,
  errors: ['413'],

  async handle({ query, em, tenantID, identity, visible }, { formLinks }) {
    const names = identity.apiKeyID ? [] : await readApproverNames(onEntities(em), tenantID, identity.userID);
    const { status } = query;
    const where = {
      $and: [await visible('workflow.execute', 'workflow_id'), mayAnswer(names), status ? { status } : {}],
    };
    const { rows, fields } = await findPage(em, CollectionRequest, {
      where,
      query,
      large: ['collectionConfig', 'submittedData'],
    });
    const requests = rows.map((row) =>
      presentCollectionRequest(row, { workflowID: row.workflowID ?? null, answerURL: answerURLOf(formLinks, row) }),
    );
    return { requests, ...fields };
  },
});

/** The request names no approvers, or one of these names. */
function mayAnswer(names: readonly string[]): FilterQuery<CollectionRequest> {
  const named = (row: string) =>
    `exists (select from jsonb_array_elements_text(${row}.collection_config->'approvers') as name where name = any(?::text[]))`;
  const fragment = raw(
    (row) => `(not jsonb_exists(${row}.collection_config, 'approvers') or ${named(row)})`,
    [textArray(names)],
  );
  return { [fragment.key]: [] };
}
