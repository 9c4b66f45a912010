import { useQuery } from '@tanstack/react-query';
import { referenceRead } from '../../../client/references.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import type { Demand } from './may-do.ts';

/** A deed that a viewer would be refused, with the title of the asset. */
export function Refusal({ of: { what, ids, type } }: { of: Demand }) {
  const [id = ''] = ids;
  const isNamed = type !== undefined && type !== 'widget' && id !== '';
  const { data } = useQuery({ ...referenceRead(useTenantID(), type ?? 'workflow', id), enabled: isNamed });
  return (
    <>
      to {what}
      {data && (
        <>
          {' '}
          “<bdi>{data.title}</bdi>”
        </>
      )}
    </>
  );
}
