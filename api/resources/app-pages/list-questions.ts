import { z } from 'zod';
import { readApproverNames } from '#shared/access/policy/approvers.ts';
import { textArray } from '#shared/db/array.ts';
import { onEntities } from '#shared/db/query.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { bindingsOf } from '../../pages/bindings.ts';
import { openPage, requireNoDraft } from './open-page.ts';
import { PageQuestionSummary } from './question-schemas.ts';
import { AppPageID } from './schemas.ts';

/** As many as a page shows. */
const SHOWN = 50;

export const listPageQuestions = tenantRoute({
  name: 'listAppPageQuestions',
  method: 'get',
  path: '/app-pages/:appPageID/questions',
  summary: 'List questions of an app page',
  description: `Returns the newest ${SHOWN} open questions of runs that this page has started and that the caller may answer through it: those that name the caller as an approver, and forms without approvers, of runs that the caller has started. The caller needs the permission to read the page.`,
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: AppPageID,
  response: z.object({ questions: z.array(PageQuestionSummary), message: Message }),
  errors: ['409'],

  async handle({ params, em, tenantID, caller, identity }, context) {
    const { page, mayCreator } = await openPage({ em, tenantID, caller }, context, params.appPageID);
    requireNoDraft(page);
    const aliases = new Map<string, string>();
    for (const { type, id, alias } of bindingsOf(page.appPageConfig))
      if (type === 'workflow' && !aliases.has(id) && (await mayCreator('workflow.execute', `workflow:${id}`)))
        aliases.set(id, alias);
    const names = identity.apiKeyID ? [] : await readApproverNames(onEntities(em), tenantID, identity.userID);
    const { rows } = await context.pool.query<Row>({
      name: 'page_questions',
      text: QUESTIONS,
      values: [tenantID, textArray([...aliases.keys()]), page.id, textArray(names), caller.id, SHOWN, identity.userID],
    });
    const questions = rows.map(({ workflowID, expiresAt, createdAt, ...row }) => ({
      ...row,
      workflowAlias: aliases.get(workflowID) ?? '',
      expiresAt: expiresAt?.toISOString() ?? null,
      createdAt: createdAt.toISOString(),
    }));
    return { questions, message: 'Questions found' };
  },
});

interface Row {
  collectionRequestID: string;
  instanceID: string;
  workflowID: string;
  collectionType: string;
  title: string | null;
  isOwnRun: boolean;
  expiresAt: Date | null;
  createdAt: Date;
}

// Whom a question is for is decided as in `open-question.ts`.
const QUESTIONS = `
select r.id as "collectionRequestID", r.instance_id as "instanceID", r.workflow_id as "workflowID",
       r.collection_type as "collectionType", left(r.collection_config ->> 'title', 500) as title,
       coalesce(i.caller -> 'requestedBy' ->> 'id' = $5, false) as "isOwnRun", r.expires_at as "expiresAt", r.created_at as "createdAt"
from collection_request r
join workflow_instance i on i.id = r.instance_id and i.tenant_id = r.tenant_id
where r.tenant_id = $1 and r.status = 'PENDING' and r.workflow_id = any($2::uuid[])
  and (r.expires_at is null or r.expires_at > now()) and i.completed_at is null
  and i.caller ->> 'origin' = 'appPage' and i.caller ->> 'originID' = $3
  and r.collection_config ->> 'notBy' is distinct from $7
  and case jsonb_typeof(r.collection_config -> 'approvers')
        when 'array' then r.collection_config -> 'approvers' ?| $4::text[]
        else r.collection_config -> 'approvers' is null and r.collection_type <> 'approval'
             and i.caller -> 'requestedBy' ->> 'id' = $5
      end
order by r.created_at desc
limit $6`;
