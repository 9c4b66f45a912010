import { Text } from '@mantine/core';
import type { Named } from '../../../client/references.ts';
import { namedBy } from '../../../ui/picked.ts';
import { Picker } from '../../../ui/picker.tsx';
import { addSource, boundBy, nameFrom, sourcesOf } from '../config.ts';
import { followedByAll } from '../data/read-again.ts';
import { ReadAgain } from '../data/read-again-field.tsx';
import { ActionInputs, OwnRight } from './action-inputs.tsx';
import type { FormProps } from './form-props.ts';

/** Which workflow is started, with which inputs, and what is read again once its run has ended. A chosen one belongs to the page from then on. */
export function StartWorkflow({ action, set, document, edit }: FormProps) {
  const { alias, workflowID } = action;
  const all = sourcesOf(document.config);
  const own = all.filter(({ type }) => type === 'workflow');
  const source = own.find((one) => one.alias === alias);
  // As actions had it that were made elsewhere, or before a workflow was added by its choice.
  const isOther = alias === undefined && workflowID !== undefined;
  const id = isOther ? namedBy(workflowID) : source && boundBy(source);
  const choose = (next: string | undefined, chosen?: Named) => {
    if (next === undefined || next === id) return;
    const known = own.find((one) => boundBy(one) === next);
    const names = all.map((one) => one.alias);
    const name = known?.alias ?? nameFrom(chosen?.title ?? 'workflow', names);
    edit((old) =>
      followedByAll(
        known ? old : addSource(old, { alias: name, type: 'workflow', workflowID: next }),
        'workflow',
        name,
      ),
    );
    set({ alias: name, workflowID: undefined, ...(id !== undefined && { inputValues: undefined }) });
  };
  const isMissing = typeof alias === 'string' && !source;
  return (
    <>
      <Picker
        types={['workflow']}
        label="Workflow"
        description={isOther ? undefined : 'The page starts it as you: viewers need no right to it'}
        error={isMissing && `This page has no workflow “${alias}” any more`}
        required
        value={id}
        onChange={choose}
      />
      {source && own.some((one) => one !== source && boundBy(one) === id) && (
        <Text size="xs">
          On this page by the name <bdi>{source.alias}</bdi>.
        </Text>
      )}
      {isOther && <OwnRight what="start it" />}
      <ActionInputs {...{ action, set, document }} type="workflow" id={id} given={source?.inputValues} />
      <ReadAgain {...{ document, edit, source }} />
    </>
  );
}
