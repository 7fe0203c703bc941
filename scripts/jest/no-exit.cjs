/* In every suite: nothing may end the process. The entry points may, and they are tested as processes of their own. */
let exit;
beforeEach(() => {
  exit = jest.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`process.exit(${code}) was called`);
  });
});
afterEach(() => {
  const calls = exit.mock.calls.length;
  exit.mockRestore();
  if (calls > 0) throw new Error('process.exit is never called outside of src/bin, but this test did');
});
