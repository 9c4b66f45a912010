import { Button, Checkbox, FileInput, Paper, PasswordInput, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { applyImport, type Bundle, type Plan, planImport } from '../client/bundles.ts';
import { countOf } from '../ui/count.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { PlanTable } from './plan-table.tsx';
import { pathWords } from './words.ts';

/** Reads a bundle, shows what its import would do, and imports it then. */
export function Import({ tenantID }: { tenantID: string }) {
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [overwrites, setOverwrites] = useState(false);
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({});
  const plan = useMutation({
    async mutationFn(given: { file: File; overwrites: boolean }) {
      const bundle = await readBundle(given.file);
      const onConflict = given.overwrites ? ('overwrite' as const) : ('skip' as const);
      return { bundle, onConflict, plan: await planImport(tenantID, { bundle, onConflict, secrets: [] }) };
    },
  });
  const apply = useMutation({
    async mutationFn() {
      if (!plan.data) return null;
      const { bundle, onConflict, plan: planned } = plan.data;
      const given = missingIn(planned).flatMap(({ key, id, path }) =>
        secrets[key] ? [{ id, path, value: secrets[key] }] : [],
      );
      // Secrets are a part of what is planned.
      const token =
        given.length === 0 ? planned.token : (await planImport(tenantID, { bundle, onConflict, secrets: given })).token;
      return applyImport(tenantID, { bundle, onConflict, secrets: given, token });
    },
    // Anything may be another one.
    onSuccess: () => queries.invalidateQueries(),
  });
  const choose = (next: File | null, overwriting: boolean) => {
    setFile(next);
    setOverwrites(overwriting);
    setSecrets({});
    apply.reset();
    plan.reset();
    if (next) plan.mutate({ file: next, overwrites: overwriting });
  };
  const planned = plan.data?.plan;
  const missing = planned ? missingIn(planned) : [];
  return (
    <Paper withBorder p="md" component="section" aria-label="Import">
      <Text component="h2" fw={600} mb="xs">
        Import
      </Text>
      <Stack gap="sm">
        <FileInput
          label="Bundle"
          description="A file that was exported. Nothing is changed before you have seen what would be"
          placeholder="Choose a file"
          accept="application/json,.json"
          clearable
          clearButtonProps={{ 'aria-label': 'Choose no file' }}
          value={file}
          onChange={(next) => choose(next, overwrites)}
        />
        {plan.error && <Problem error={plan.error} />}
        {planned && !apply.data && (
          <>
            <Text size="sm" role="status">
              {summaryOf(planned)}
            </Text>
            <PlanTable plan={planned} />
            {(planned.summary.conflictCount > 0 || overwrites) && (
              <Checkbox
                label="Overwrite what was changed here since the last import"
                checked={overwrites}
                onChange={({ currentTarget: { checked } }) => choose(file, checked)}
              />
            )}
            {missing.map(({ key, label }) => (
              <PasswordInput
                key={key}
                label={label}
                description="A secret, which no bundle holds. Empty: it is to be given later"
                autoComplete="off"
                value={secrets[key] ?? ''}
                onChange={({ currentTarget: { value } }) => setSecrets({ ...secrets, [key]: value })}
              />
            ))}
            {!planned.valid && (
              <Notice tone="bad">An item cannot be saved as it is, so nothing would be imported.</Notice>
            )}
            <div>
              <Button disabled={!planned.valid} loading={apply.isPending} onClick={() => apply.mutate()}>
                Import it
              </Button>
            </div>
          </>
        )}
        {apply.error && <Problem error={apply.error} />}
        {apply.data && (
          <Notice tone="ok" role="status">
            {`Imported: ${countOf(apply.data.results.filter(({ action }) => action !== 'unchanged').length, 'asset')}. Below, it can be rolled back.`}
          </Notice>
        )}
        {apply.data?.warnings.map((warning) => (
          <Notice key={warning} tone="wait">
            {warning}
          </Notice>
        ))}
      </Stack>
    </Paper>
  );
}

async function readBundle(file: File): Promise<Bundle> {
  let given: unknown;
  try {
    given = JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} is no JSON, so it is no bundle.`);
  }
  // The answer of an export has the bundle in it.
  return ((given as { bundle?: unknown } | null)?.bundle ?? given) as Bundle;
}

function missingIn({ items }: Plan) {
  return items.flatMap(({ id, title, missingSecrets }) =>
    missingSecrets.map((path) => ({
      ...{ id, path, key: `${id} ${path.join('.')}` },
      label: `${title}: ${pathWords(path)}`,
    })),
  );
}

function summaryOf({ summary }: Plan): string {
  const { createCount, updateCount, unchangedCount, conflictCount, skipCount } = summary;
  const parts = [
    [createCount, 'new'],
    [updateCount, 'changed'],
    [unchangedCount, 'as they are'],
    [conflictCount, 'changed here too'],
    [skipCount, 'left out'],
  ] as const;
  return parts.flatMap(([count, words]) => (count > 0 ? [`${count.toLocaleString()} ${words}`] : [])).join(', ');
}
