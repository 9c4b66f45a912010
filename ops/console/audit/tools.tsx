import { Button, Menu } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type AuditFormat, exportTrail, verifyTrail } from '../client/audit.ts';
import type { AuditFilter } from '../client/audit-filter.ts';
import { countOf } from '../ui/count.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { saveFile } from '../ui/save-file.ts';
import { Moment } from '../ui/time.tsx';

interface Props {
  tenantID: string;
  filter: AuditFilter;
}

/** Proves that no entry was changed, and saves what the filter finds as a file. */
export function useTools({ tenantID, filter }: Props) {
  const verify = useMutation({ mutationFn: () => verifyTrail(tenantID) });
  const save = useMutation({
    mutationFn: async (format: AuditFormat) => saveFile(`audit.${format}`, await exportTrail(tenantID, filter, format)),
  });
  const buttons = (
    <>
      <Button variant="default" loading={verify.isPending} onClick={() => verify.mutate()}>
        Verify
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" loading={save.isPending}>
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => save.mutate('csv')}>CSV</Menu.Item>
          <Menu.Item onClick={() => save.mutate('jsonl')}>JSON lines</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
  const error = verify.error ?? save.error;
  const said = (
    <div className="said">
      {error && <Problem error={error} />}
      {verify.data && <Verified of={verify.data} />}
    </div>
  );
  return { buttons, said };
}

function Verified({ of }: { of: Awaited<ReturnType<typeof verifyTrail>> }) {
  const { isIntact, rows, seals, unsealedRows, problem } = of;
  if (isIntact)
    return (
      <Notice tone="ok" role="status" title="Intact">
        As they were written: {countOf(rows, 'row')} under {countOf(seals, 'seal')}. Too young for a seal:{' '}
        {countOf(unsealedRows, 'row')}.
      </Notice>
    );
  return (
    <Notice tone="bad" role="alert" title="Changed">
      Seal {problem?.number}: {problem?.message}{' '}
      {problem?.from && problem.to && (
        <>
          Its rows are of <Moment at={problem.from} isExact /> to <Moment at={problem.to} isExact />.
        </>
      )}
    </Notice>
  );
}
