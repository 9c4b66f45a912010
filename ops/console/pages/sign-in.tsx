import { Button, Container, Paper, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { sessionNotice } from '../client/session.ts';
import type { SignIn } from '../client/sign-in.ts';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem, wordsOf } from '../ui/problem.tsx';

/** Loaded when it is needed: most visitors are signed in. */
const signInModule = () => import('../client/sign-in.ts');

export function SignInPage() {
  const { next = '/' } = useSearch({ from: '/sign-in' });
  const notice = sessionNotice();
  const config = useQuery({
    queryKey: ['sign-in'],
    queryFn: async () => (await signInModule()).readSignIn(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Container component="main" size={420} py={72}>
      <PageTitle title="Sign in to Gantry" />
      <Stack>
        {notice && (
          <Notice tone="wait" role="status">
            {notice}
          </Notice>
        )}
        {config.error && <Problem error={config.error} onRetry={() => void config.refetch()} />}
        {config.data?.issuer && <ProviderSignIn signIn={config.data} issuer={config.data.issuer} next={next} />}
        {config.data?.hasDevelopmentIssuer && <DevelopmentSignIn next={next} />}
        {config.data && !config.data.issuer && !config.data.hasDevelopmentIssuer && (
          <Notice tone="bad">
            This server has no identity provider. Set AUTH_ISSUER and AUTH_AUDIENCE, or AUTH=builtin.
          </Notice>
        )}
      </Stack>
    </Container>
  );
}

function ProviderSignIn({ signIn, issuer, next }: { signIn: SignIn; issuer: string; next: string }) {
  const go = useMutation({
    mutationFn: async () => {
      const { goToProvider } = await signInModule();
      await goToProvider(signIn, next);
    },
  });
  return (
    <Paper withBorder p="lg">
      <Stack>
        <Button onClick={() => go.mutate()} loading={go.isPending}>
          {signIn.isBuiltIn ? 'Sign in' : `Sign in at ${new URL(issuer).host}`}
        </Button>
        {go.error && <Problem error={go.error} />}
      </Stack>
    </Paper>
  );
}

function DevelopmentSignIn({ next }: { next: string }) {
  const navigate = useNavigate();
  const [email, setEmail] = useState('you@example.com');
  const signIn = useMutation({
    mutationFn: async () => {
      const { pageAfterSignIn, signInForDevelopment } = await signInModule();
      await signInForDevelopment(email.trim());
      return pageAfterSignIn(next);
    },
    onSuccess: (page) => navigate({ href: `/console${page}` }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <Paper withBorder p="lg" component="form" onSubmit={submit}>
      <Stack>
        <Text size="sm">
          This is a development server: it signs in any e-mail address, for browsers on its own machine only.
        </Text>
        <TextInput
          label="E-mail address"
          type="email"
          required
          autoFocus
          autoComplete="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={signIn.error && wordsOf(signIn.error)}
        />
        <Button type="submit" loading={signIn.isPending}>
          Sign in
        </Button>
      </Stack>
    </Paper>
  );
}
