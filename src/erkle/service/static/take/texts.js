// Every fixed text that a participant reads. A translation is another file with the same names.
// The texts that researchers write (title, question, consent, instructions, endings, reasons) come from the server.

export const language = "en";

export const texts = {
  loading: "Loading …",
  practice: "Practice question",
  practiceHint: "This question is for practice and does not count.",

  consent: {
    heading: "Before you begin",
    agree: "I agree",
    decline: "I do not agree",
  },

  instructions: {
    heading: "How it works",
    steps: [
      "You see one item at the top and two items below it.",
      "Choose the item below that is more like the one at the top.",
      "There are no right or wrong answers. Go with your first impression.",
    ],
    length: (n) => (n === 1 ? "There is one question." : `There are ${n} questions.`),
    practice: (n) => (n === 1 ? "You start with one practice question." : `You start with ${n} practice questions.`),
    keys: "Click or tap, or press",
    keysOr: "or",
    keysLeft: "for the left item",
    keysRight: "for the right item",
    begin: "Begin",
    resume: "Continue",
  },

  question: {
    spoken: (left, right, anchor) => `${left} or ${right}: which is more like ${anchor}?`,
    leftItem: "the left item",
    rightItem: "the right item",
    anchorItem: "the item at the top",
    choose: (name) => `Choose ${name}`,
    left: "Left",
    right: "Right",
    notShown: "This picture could not be loaded.",
    waiting: "The next question is loading.",
    sending: "Saving your answers …",
    unreachable: "The server cannot be reached. Your answers are stored in this browser and will be sent automatically.",
    offline: "You are offline. Your answers are stored in this browser and will be sent when you are online again.",
    none: "There is no question for you at the moment. This page checks again automatically.",
    tooFast: "That was very quick. Please take a moment to look at each question.",
  },

  skip: {
    open: "Skip this question",
    heading: "Why do you want to skip this question?",
    cancel: "Back to the question",
  },

  progress: (done, total) => `${done} of ${total}`,
  progressLabel: "Questions answered",

  saving: {
    saved: "Saved",
    saving: "Saving …",
    retrying: "Not sent yet, trying again",
    reconnecting: "No connection, trying again",
    offline: "Offline, answers stored here",
    savedAgain: "All answers are saved.",
    preview: "Not saved",
  },

  storage: {
    session: "This browser stores data for this tab only. Please do not close it before the end.",
    none: "This browser cannot store data for this page. Please do not reload or close it before the end.",
  },

  ending: {
    completed: "All done",
    failed: "The study ends here",
    screened: "You cannot take part",
    full: "The study is full",
    closed: "The study is closed",
    declined: "You are not taking part",
    saved: "All your answers are saved.",
    code: "Your completion code",
    otherCode: "Your code",
    copy: "Copy",
    copied: "Copied",
    link: (host) => `Continue to ${host}`,
    redirect: (seconds) => `You will be redirected in ${seconds} s.`,
    stay: "Stay on this page",
  },

  previewEnd: {
    banner: "Preview, not saved",
    questions: "Questions",
    endings: "Endings",
    heading: "What participants see at the end",
    names: {
      completed: "Completed",
      failed: "Failed",
      screened: "Screened out",
      full: "Full",
      closed: "Closed",
      declined: "Declined",
    },
    when: {
      completed: "For participants who reach the end.",
      failed: "For participants who fail the attention checks or skip too many questions.",
      screened: "For people whom the study has nothing to ask, or whose link does not prove who they are.",
      full: "For people who come when all places are taken.",
      closed: "For people who come, or come back, after the study was closed.",
      declined: "For people who do not give their consent.",
    },
    redirect: "The page then goes to this address. The preview does not.",
    filled: "Names in braces are replaced by the parameters of the participant’s link.",
    noRedirect: "Participants stay on this page, because this ending has no URL.",
    noCode: "This ending has no code.",
    back: "Back to the study",
  },

  signIn: {
    heading: "Please sign in to see the preview",
    text: "The preview is for the researchers of this study.",
    link: "Sign in",
  },

  gone: {
    heading: "This study does not exist",
    text: "The link may be incomplete, or the study may not have started, or it may have been deleted. Please check the link you were given.",
  },

  lost: {
    heading: "We could not find your earlier answers",
    text: "The server has no record of your participation, so you cannot continue it. You can start again.",
    again: "Start again",
  },

  refused: {
    heading: "You cannot take part",
    text: "The server has refused this link. Please use the link you were given, unchanged.",
    check: "Try again",
  },

  // For participants who have joined.
  paused: {
    heading: "The study is paused",
    text: "Your answers are saved. Leave this page open and it will continue automatically, or come back later with the same link.",
    check: "Check now",
  },

  // For visitors who have not joined.
  pausedBeforeJoining: {
    heading: "The study is paused",
    text: "Leave this page open and it will continue automatically, or come back later with the same link.",
    check: "Check now",
  },

  draft: {
    heading: "The study has not started yet",
    text: "Please come back later. This page checks again automatically.",
    check: "Check now",
  },

  unreachable: {
    heading: "The study cannot be reached",
    text: "Please check your internet connection. This page tries again automatically.",
    check: "Try again now",
  },
};
