import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { Checkbox, PasswordInput, SegmentedControl, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../client/types.ts';
import { createVariable, updateVariable, type Variable } from '../client/variables.ts';
import { CodeEditor } from '../ui/code-editor.tsx';
import { faultsOf } from '../ui/faults.ts';
import { FormDialog } from '../ui/form.tsx';
import { faultOfJSON, parseJSON } from '../ui/json-text.ts';

interface Props {
  tenantID: string;
  /** Without it, a new one. */
  variable?: Variable;
  onSaved: () => Promise<unknown>;
  onClose: () => void;
}

/** A variable: the name and whether it is a secret stay as they were given. */
export function VariableDialog({ tenantID, variable, onSaved, onClose }: Props) {
  const [name, setName] = useState(variable?.name ?? '');
  const [isSecret, setSecret] = useState(variable?.isSecret ?? false);
  const [kind, setKind] = useState<'text' | 'json'>(isText(variable) ? 'text' : 'json');
  const [text, setText] = useState(() => shownText(variable));
  const [description, setDescription] = useState(variable?.description ?? '');
  const save = useMutation({
    async mutationFn() {
      const value = (isSecret || kind === 'text' ? text : parseJSON(text)) as Schemas['VariableCreate']['value'];
      const given = { description: description === '' ? null : description };
      // The value of a secret is not known here: left empty, it stays.
      const keepsSecret = variable?.isSecret && text === '';
      if (variable) {
        const ids = { tenantID, variableID: variable.id };
        await updateVariable(ids, { ...given, ...(!keepsSecret && { value }) });
      } else await createVariable(tenantID, { ...given, name: name.trim(), value, isSecret });
      await onSaved();
    },
    onSuccess: onClose,
  });
  const faults = new Map([...faultsOf(save.error), ...faultOfJSON('value', save.error)]);
  return (
    <FormDialog
      title={variable ? variable.name : 'New variable'}
      verb="Save"
      save={save}
      faults={faults}
      onClose={onClose}
    >
      {!variable && (
        <>
          <TextInput
            label="Name"
            description="Workflows read it as vars.<name>"
            required
            data-autofocus
            value={name}
            error={faults.get('name')}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Checkbox
            label="Secret"
            description="Stored encrypted, never shown again, for the fields of HTTP nodes only"
            checked={isSecret}
            onChange={(event) => setSecret(event.currentTarget.checked)}
          />
        </>
      )}
      {!isSecret && (
        <SegmentedControl
          aria-label="Kind of value"
          data={[
            { value: 'text', label: 'Text' },
            { value: 'json', label: 'JSON' },
          ]}
          value={kind}
          onChange={(next) => setKind(next as 'text' | 'json')}
        />
      )}
      {isSecret ? (
        <PasswordInput
          label="Value"
          description={variable ? 'Empty: it stays as it is' : undefined}
          autoComplete="off"
          visibilityToggleButtonProps={{ 'aria-label': 'Show the value' }}
          value={text}
          error={faults.get('value')}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      ) : (
        <CodeEditor
          label="Value"
          language={kind}
          minRows={2}
          maxRows={14}
          value={text}
          error={faults.get('value')}
          onChange={setText}
        />
      )}
      <TextInput
        label="Description"
        value={description}
        error={faults.get('description')}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

function isText(variable: Variable | undefined): boolean {
  return !variable || variable.isSecret || typeof variable.value === 'string';
}

function shownText(variable: Variable | undefined): string {
  if (!variable || variable.isSecret) return '';
  return typeof variable.value === 'string' ? variable.value : JSON.stringify(variable.value, null, 2);
}
