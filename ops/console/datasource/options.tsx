import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useMay } from '../client/may.ts';
import { testOptions } from '../client/sources.ts';
import type { Schemas } from '../client/types.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { SchemaForm } from '../ui/schema-form.tsx';
import { Files, withFile } from './files.tsx';

export type Options = Readonly<Record<string, unknown>>;

interface Props {
  tenantID: string;
  /** The id of the stored datasource, whose secrets stand for the masked ones. */
  datasourceID?: string;
  form: Schemas['DatasourceForm'];
  options: Options;
  faults: ReadonlyMap<string, string>;
  onChange: (options: Options) => void;
}

/** The options of a connection, and a test of them before they are saved. */
export function OptionsForm({ tenantID, datasourceID, form, options, faults, onChange }: Props) {
  const may = useMay(datasourceID === undefined ? undefined : `datasource:${datasourceID}`);
  const test = useMutation({
    mutationFn: () =>
      testOptions(tenantID, {
        datasourceType: form.datasourceType as Schemas['DatasourceTest']['datasourceType'],
        datasourceOptions: options as Schemas['DatasourceTest']['datasourceOptions'],
        ...(datasourceID && { datasourceID }),
      }),
  });
  return (
    <>
      <SchemaForm
        form={form}
        value={options}
        faults={faults}
        onChange={(next) => {
          test.reset();
          onChange(next);
        }}
      />
      {form.category === 'file' && (
        <Files
          tenantID={tenantID}
          onUse={(file) => {
            test.reset();
            onChange(withFile(form.schema, options, file));
          }}
        />
      )}
      {may('datasource.test') && (
        <div>
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Test these options
          </Button>
        </div>
      )}
      {test.error && <Problem error={test.error} />}
      {test.isSuccess && (
        <Notice tone="ok" role="status">
          A worker has connected.
        </Notice>
      )}
    </>
  );
}
