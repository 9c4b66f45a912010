import { CloseButton, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Fragment, useState } from 'react';
import { typeWords } from '../bundle/words.ts';
import { forgetInstalled, installedWith } from '../client/installed.ts';
import { ToAsset } from '../ui/asset-title.tsx';
import { Notice } from '../ui/notice.tsx';

interface Props {
  tenantID: string;
  workflowID: string;
}

/** Says what a template has brought beside this workflow, until it is closed. */
export function WhatWasInstalled({ tenantID, workflowID }: Props) {
  const [installed, setInstalled] = useState(() => installedWith(workflowID));
  if (!installed) return null;
  const { template, assets, tables } = installed;
  const others = [
    ...assets
      .filter(({ id }) => id !== workflowID)
      .map((asset) => ({ key: asset.id, of: typeWords[asset.type].one, link: <ToAsset {...asset} /> })),
    ...tables.map((table) => ({ key: table, of: 'Table', link: <ToTable {...{ tenantID, table }} /> })),
  ];
  const close = () => {
    forgetInstalled(workflowID);
    setInstalled(undefined);
  };
  return (
    <Notice tone="ok" role="status" title="Installed">
      <Group component="span" gap="xs" justify="space-between" wrap="nowrap" display="inline-flex">
        <span>
          this workflow, from the template “<bdi>{template}</bdi>”
          {others.map(({ key, of, link }, at) => (
            <Fragment key={key}>
              {at === 0 ? ', and with it: ' : ', '}
              {of.toLowerCase()} {link}
            </Fragment>
          ))}
          . Try it with “Test”.
        </span>
        <CloseButton size="sm" aria-label="Close the note about the installation" onClick={close} />
      </Group>
    </Notice>
  );
}

function ToTable({ tenantID, table }: { tenantID: string; table: string }) {
  return (
    <Link className="link" to="/t/$tenantID/database" params={{ tenantID }} search={{ schema: 'public', table }}>
      <bdi>{table}</bdi>
    </Link>
  );
}
