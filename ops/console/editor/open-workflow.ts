import type { Issue, Schemas } from '../client/types.ts';
import type { Kinds } from '../graph/kinds.ts';
import { type OpenDraft, stepChosen, useAsOpenPage } from '../open-page/open-page.ts';
import type { Results } from '../testing/results.ts';
import { bodyOf, type Draft, optionsOf } from './draft.ts';

interface Editing {
  workflow: Schemas['Workflow'];
  title: string;
  draft: Draft;
  kinds: Kinds;
  /** Why saving was refused. */
  issues: readonly Issue[];
  mayChange: boolean;
  /** Results of tests, by step. */
  results: Results;
  onTake: (change: (draft: Draft) => Draft) => void;
}

/** Tells the assistant of the draft in the editor, and takes its changes as one that can be undone. */
export function useOpenWorkflow({ workflow, title, draft, kinds, issues, mayChange, results, onTake }: Editing): void {
  const { id, versionNumber, publishedVersionID, versionID } = workflow;
  const openDraft: OpenDraft<Draft, Kinds> = {
    ...{ workflowID: id, draft, kinds, mayChange },
    onTake: (next) => onTake(() => next),
  };
  useAsOpenPage({
    ...{ kind: 'workflow', id, title },
    workflow: openDraft as OpenDraft,
    read: () => {
      const chosenStep = stepChosen();
      const { workflowNodes, workflowEdges } = bodyOf(draft);
      const { canvas: _notes, ...options } = optionsOf(draft);
      const failed = [...results].flatMap(([step, { steps }]) => {
        const error = steps.steps.at(-1)?.last.error;
        return error ? [{ step, code: error.code, message: error.message }] : [];
      });
      return {
        version: versionNumber,
        isPublished: versionID === publishedVersionID,
        ...(chosenStep !== undefined && { chosenStep }),
        ...(issues.length > 0 && { refusedWhenSaved: issues }),
        ...(failed.length > 0 && { failedInTheLastTest: failed }),
        draft: {
          workflowNodes: workflowNodes.map(({ id: step, type, data }) => ({ id: step, type, data })),
          workflowEdges: workflowEdges.map(({ id: edge, source, target, sourceHandle }) => {
            return { id: edge, source, target, sourceHandle };
          }),
        },
        workflowOptions: options,
      };
    },
  });
}
