import { Text } from '@mantine/core';
import type { Schemas } from '../../client/types.ts';
import { isObject } from '../../ui/is-object.ts';
import { Notice } from '../../ui/notice.tsx';
import type { CreatePage } from './create.ts';
import { formOfWorkflow } from './form-of-workflow.ts';
import { inputsOf } from './inputs.ts';
import { WhoSees } from './who-sees.tsx';
import { WorkflowForm } from './workflow-form.tsx';

interface Props {
  tenantID: string;
  create: CreatePage;
  begin?: { id?: string } | undefined;
}

/** Chooses the workflow that a form starts. */
export function WorkflowStep({ tenantID, create, begin }: Props) {
  return (
    <WorkflowForm
      {...{ tenantID, create }}
      begin={begin?.id}
      titleFor={(workflow) => workflow.title}
      made={({ id, title: called, workflowDescription, workflowOptions }, title) =>
        (newID) => {
          const inputDefinitions = definitionsIn(workflowOptions);
          const workflow = { id, title: called, description: workflowDescription ?? '', inputDefinitions };
          return formOfWorkflow({ workflow, title, newID });
        }}
    >
      {(workflow) => <WhatItDoes {...workflow} />}
    </WorkflowForm>
  );
}

function WhatItDoes({ workflowOptions, publishedVersionID }: Schemas['Workflow']) {
  const inputs = inputsOf(definitionsIn(workflowOptions));
  return (
    <>
      <Text size="sm">
        {inputs.length === 0
          ? 'This workflow declares no inputs: the page has a button that starts it.'
          : `The form asks for: ${inputs.map(({ label }) => label).join(', ')}.`}
      </Text>
      {!publishedVersionID && (
        <Notice tone="wait">This workflow is not published yet. The page can start it once it is.</Notice>
      )}
      <WhoSees what="starts the workflow" />
    </>
  );
}

function definitionsIn(options: unknown): unknown {
  return isObject(options) ? options.inputDefinitions : undefined;
}
