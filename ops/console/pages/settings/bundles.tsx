import { Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { Export } from '../../bundle/export.tsx';
import { Import } from '../../bundle/import.tsx';
import { Imports } from '../../bundle/imports.tsx';
import { useMay } from '../../client/may.ts';
import { PageTitle } from '../../ui/page.tsx';

/** Assets as a file: saved from this tenant, and taken from another one. */
export function BundleSettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings/bundles' });
  const may = useMay();
  return (
    <>
      <PageTitle title="Bundles" />
      <Stack key={tenantID} maw={960}>
        {may('bundle.export') && <Export tenantID={tenantID} />}
        {may('bundle.preview') && may('bundle.execute') && <Import tenantID={tenantID} />}
        {may('bundle.preview') && <Imports tenantID={tenantID} />}
      </Stack>
    </>
  );
}
