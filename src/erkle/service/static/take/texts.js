// Every fixed text that a participant reads, in one place: a translation is another file with the same names.
// What researchers write (title, question, consent, instructions, thanks, reasons) comes from the server.

export const language = "en";

export const texts = {
  loading: "Loading …",
  practice: "Practice question",
  practiceHint: "This one is for trying out and does not count.",
  preview: "Preview: nothing is kept",

  consent: {
    heading: "Before you begin",
    agree: "I agree",
    decline: "I do not agree",
  },

  instructions: {
    heading: "How it works",
    steps: [
      "You see one thing on top and two below it.",
      "Choose the one of the two that is more like the one on top.",
      "There is no right or wrong: go by your first impression.",
    ],
    length: (n) => (n === 1 ? "There is one question." : `There are ${n} questions.`),
    practice: (n) => (n === 1 ? "Before them comes one for practice." : `Before them come ${n} for practice.`),
    keys: "Click or tap, or use the keys",
    keysOr: "or",
    keysLeft: "for the left one",
    keysRight: "for the right one",
    begin: "Begin",
    resume: "Continue",
  },

  question: {
    spoken: (left, right, anchor) => `${left} or ${right}: which is more like ${anchor}?`,
    reference: "To compare with",
    leftThing: "the left one",
    rightThing: "the right one",
    anchorThing: "the one on top",
    choose: (name) => `Choose ${name}`,
    or: "or",
    left: "Left",
    right: "Right",
    notShown: "This picture could not be loaded.",
    waiting: "One moment, the next question is on its way.",
    sending: "Saving your answers …",
    unreachable: "The server cannot be reached just now. Your answers are kept here and are sent as soon as it answers.",
    offline: "You are offline. Your answers are kept here and are sent as soon as you are back.",
    none: "There is no question for you at the moment. This page looks again by itself.",
    tooFast: "That was very quick. Please take a moment to look at each question.",
  },

  skip: {
    open: "Skip this question",
    heading: "Why do you skip this question?",
    cancel: "Back to the question",
  },

  progress: (done, total) => `${done} of ${total}`,
  progressLabel: "Questions answered",

  saving: {
    saved: "Saved",
    saving: "Saving …",
    retrying: "Not sent yet, trying again",
    offline: "Offline, answers are kept here",
    savedAgain: "All answers are saved.",
  },

  storage: {
    session: "This browser keeps data only for this tab: please do not close it before the end.",
    none: "This browser keeps no data for this page: please do not reload or close it before the end.",
  },

  ending: {
    completed: { heading: "All done", text: "All your answers have been saved." },
    failed: {
      heading: "The study ends here for you",
      text: "Some of the answers did not match what was asked for, so we cannot go on. Thank you for your time.",
    },
    screened: { heading: "You are not taking part", text: "Nothing more is needed from you. You can close this page." },
    code: "Your completion code",
    otherCode: "Your code",
    copy: "Copy",
    copied: "Copied",
    link: (host) => `Go on to ${host}`,
    redirect: (seconds) => `You will be taken there in ${seconds} s.`,
    stay: "Stay on this page",
  },

  previewEnd: {
    heading: "That was the preview",
    text: "Participants would now be thanked and given their completion code. Nothing you chose has been kept.",
    again: "Once more",
    back: "Back to the study",
  },

  signIn: {
    heading: "Please sign in to see the preview",
    text: "The preview is for the researchers of this study.",
    link: "Sign in",
  },

  gone: {
    heading: "There is no such study",
    text: "The link may be incomplete, or the study has been removed. Please check the link you were given.",
  },

  lost: {
    heading: "We do not know this participation any more",
    text: "The server has no record of it, so it cannot be continued. You can start again.",
    again: "Start again",
  },

  paused: {
    heading: "The study is paused",
    text: "Your answers are saved. You can leave this page open: it goes on by itself, or come back later with the same link.",
    check: "Look again now",
  },

  resting: {
    heading: "The study is paused",
    text: "Please come back later with the same link, or leave this page open: it goes on by itself.",
    check: "Look again now",
  },

  draft: {
    heading: "The study has not started yet",
    text: "Please come back later. This page looks again by itself.",
    check: "Look again now",
  },

  excluded: {
    heading: "You cannot take part any more",
    text: "The researchers have ended this participation. Nothing more is needed from you.",
  },

  closed: {
    heading: "The study is closed",
    text: "It takes no more answers. Thank you for your interest.",
  },

  unreachable: {
    heading: "The study cannot be reached",
    text: "Please check your connection. This page tries again by itself.",
    check: "Try again now",
  },
};
