import { queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const PAGE = '/api/v1/tenants/{tenantID}/app-pages/{appPageID}';

interface PageIDs {
  tenantID: string;
  appPageID: string;
}

/** The declaration of the workflow that a page binds, of the inputs that the page leaves to its viewers. */
export async function readWorkflowInputs(path: PageIDs & { workflowAlias: string }): Promise<readonly unknown[]> {
  const route = `${PAGE}/workflows/{workflowAlias}/inputs` as const;
  return (await body(rest.GET(route, { params: { path } }))).inputDefinitions;
}

/** Open questions of runs of a page that the caller may answer. */
export function pageQuestionsRead(path: PageIDs) {
  return queryOptions({
    queryKey: ['page-questions', path],
    queryFn: async () => (await body(rest.GET(`${PAGE}/questions`, { params: { path } }))).questions,
  });
}

export function pageQuestionRead(path: PageIDs & { appPageQuestionID: string }) {
  return queryOptions({
    queryKey: ['page-question', path],
    queryFn: async () => (await body(rest.GET(`${PAGE}/questions/{appPageQuestionID}`, { params: { path } }))).question,
  });
}

export function answerPageQuestion(path: PageIDs & { appPageQuestionID: string }, submittedData: Answer) {
  return body(rest.POST(`${PAGE}/questions/{appPageQuestionID}/submit`, { params: { path }, body: { submittedData } }));
}

type Answer = Schemas['CollectionSubmission']['submittedData'];

/** The result of a run of a page, which was too large for a message. */
export async function readPageRun(path: {
  tenantID: string;
  appPageID: string;
  appPageInstanceID: string;
}): Promise<unknown> {
  const answer = await body(rest.GET(`${PAGE}/runs/{appPageInstanceID}`, { params: { path } }));
  return answer.output;
}
