import { Button, Container, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { pageAfterSignIn, readSignIn, takeCode } from '../client/sign-in.ts';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

/** Where the identity provider sends the browser back to. */
export function SignedInPage() {
  const navigate = useNavigate();
  const [error, setError] = useState<Error>();
  const begun = useRef(false);
  useEffect(() => {
    // A code works once.
    if (begun.current) return;
    begun.current = true;
    const address = new URL(location.href);
    readSignIn()
      .then((signIn) => takeCode(signIn, address))
      .then(pageAfterSignIn)
      .then((next) => navigate({ href: `/console${next}`, replace: true }))
      .catch(setError);
  }, [navigate]);
  return (
    <Container component="main" size={420} py={72}>
      <PageTitle title="Signing in" />
      {error ? <Problem error={error} /> : <Text role="status">Asking the identity provider …</Text>}
      {error && (
        <Button mt="md" component={Link} to="/sign-in" variant="default">
          Begin again
        </Button>
      )}
    </Container>
  );
}
