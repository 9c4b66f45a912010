import type { FilterQuery } from '@mikro-orm/postgresql';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findPage } from '../../http/fields/paging.ts';
import { answerableBy } from '../../questions/answerable-requests.ts';
import { answerURLOf } from './answer-link.ts';
import { presentCollectionRequest } from './present.ts';
import { CollectionRequestList, CollectionRequests } from './schemas.ts';

export const listCollectionRequests = tenantRoute({
  name: 'listCollectionRequests',
  method: 'get',
  path: '/workflows/data-collection',
  summary: 'List data collection requests',
  description:
    'Returns the questions of runs that wait for a person, approvals and forms, which the caller may answer, newest first: those of the workflows that the caller may execute, unless they name other approvers.',
  permission: 'workflow.execute',
  filter: true,
  query: CollectionRequestList,
  response: CollectionRequests,
  errors: ['413'],

  async handle({ query, em, tenantID, identity, visible }, { runs: { formLinks } }) {
    const { status, instanceID } = query;
    const answerable = await answerableBy(em, { tenantID, identity });
    const where: FilterQuery<CollectionRequest> = {
      $and: [
        await visible('workflow.execute', 'workflow_id'),
        answerable,
        { ...(status && { status }), ...(instanceID && { instanceID }) },
      ],
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
