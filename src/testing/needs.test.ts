import { readSkipNote, skipNote } from './needs.ts';

test('the reason of a skip is read back from a test title, even if the note is in the middle of it', () => {
  const note = skipNote('browser', 'no Chromium: apt-get install chromium (Debian)');
  expect(readSkipNote(`the page ${note} shows an answer`)).toEqual({
    name: 'browser',
    reason: 'no Chromium: apt-get install chromium (Debian)',
    rest: 'the page shows an answer',
  });
});

test('a title without a note has no reason', () => {
  expect(readSkipNote('the page needs a browser: [chromium]')).toBeUndefined();
});
